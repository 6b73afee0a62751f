#include "client/cli/render/column_blocks.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/cli/render/number_text.h"
#include "client/cli/render/table.h"

namespace locus::client {
namespace {

size_t WidthOf(const TableColumn& column) {
  size_t width = 0;
  for (const std::string& cell : column) {
    width = std::max(width, CharacterCount(PrintableLine(cell)));
  }
  return width;
}

// The width of a group with the two spaces before each column.
size_t WidthOf(const ColumnGroup& group) {
  size_t width = 0;
  for (const TableColumn& column : group) width += 2 + WidthOf(column);
  return width;
}

std::string FormatBlock(const TableColumn& labels,
                        const std::vector<const TableColumn*>& columns) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < labels.size(); ++i) {
    rows.push_back({labels[i]});
    for (const TableColumn* column : columns) {
      rows.back().push_back(i < column->size() ? (*column)[i] : "");
    }
  }
  return FormatRows(rows);
}

}  // namespace

std::string FormatColumnBlocks(const TableColumn& labels,
                               const std::vector<ColumnGroup>& groups,
                               int width) {
  const size_t label_width = WidthOf(labels);
  std::string text;
  std::vector<const TableColumn*> block;
  size_t used = label_width;
  const auto finish = [&] {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    FormatBlock(labels, block));
    block.clear();
    used = label_width;
  };
  for (const ColumnGroup& group : groups) {
    const size_t group_width = WidthOf(group);
    if (!block.empty() && used + group_width > static_cast<size_t>(width)) {
      finish();
    }
    for (const TableColumn& column : group) block.push_back(&column);
    used += group_width;
  }
  if (!block.empty() || groups.empty()) finish();
  return text;
}

}  // namespace locus::client
