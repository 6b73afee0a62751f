#include "client/cli/render/text_table.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/printable.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"

namespace locus::client {
namespace {

using CellRows = std::vector<std::vector<StyledCell>>;

constexpr int kColumnGap = 2;
// Shorter cells are not wrapped, because numbers with units read badly on two
// lines.
constexpr int kMinWrapped = 20;
// A cell is not wrapped into lines that are shorter than this.
constexpr int kMinWrapWidth = 12;

bool IsHeader(const std::vector<StyledCell>& row) {
  bool has_capitals = false;
  for (const StyledCell& cell : row) {
    if (absl::c_any_of(cell.text, absl::ascii_islower)) return false;
    has_capitals |= absl::c_any_of(cell.text, absl::ascii_isupper);
  }
  return has_capitals;
}

int LongestWord(absl::string_view text) {
  int longest = 0;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    longest = std::max(longest, DisplayWidth(word));
  }
  return longest;
}

// The smallest width to which a cell can be wrapped.
int MinWidth(const StyledCell& cell, bool is_header) {
  const int width = DisplayWidth(cell.text);
  if (is_header) return LongestWord(cell.text);
  if (width < kMinWrapped) return width;
  return std::max(LongestWord(cell.text), kMinWrapWidth);
}

int TotalWidth(const std::vector<int>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 0) +
         kColumnGap * (static_cast<int>(widths.size()) - 1);
}

// A table whose cells have been escaped.
class FittedTable {
 public:
  FittedTable(CellRows rows, bool has_header)
      : rows_(std::move(rows)), has_header_(has_header) {
    for (size_t r = 0; r < rows_.size(); ++r) {
      const size_t count = std::max(natural_.size(), rows_[r].size());
      natural_.resize(count);
      min_.resize(count);
      for (size_t i = 0; i < rows_[r].size(); ++i) {
        const StyledCell& cell = rows_[r][i];
        natural_[i] = std::max(natural_[i], DisplayWidth(cell.text));
        min_[i] = std::max(min_[i], MinWidth(cell, has_header_ && r == 0));
      }
    }
  }

  std::string Format(int width) const {
    if (TotalWidth(natural_) <= width) return Print(natural_);
    if (TotalWidth(min_) <= width) return Print(Shrunk(width));
    if (!has_header_ || natural_.size() < 3) return Print(Shrunk(width));
    return FormatBlocks(width);
  }

 private:
  // Shrinks the widest column, and then the widest again, until the table fits
  // or no column can be shrunk.
  std::vector<int> Shrunk(int width) const {
    std::vector<int> widths = natural_;
    while (TotalWidth(widths) > width) {
      int widest = -1;
      for (size_t i = 0; i < widths.size(); ++i) {
        if (widths[i] > min_[i] && (widest < 0 || widths[i] > widths[widest])) {
          widest = static_cast<int>(i);
        }
      }
      if (widest < 0) break;
      --widths[widest];
    }
    return widths;
  }

  // Prints as many columns as fit, then the first column and the next ones.
  std::string FormatBlocks(int width) const {
    std::string text;
    size_t next = 1;
    while (next < natural_.size()) {
      const size_t begin = next;
      int used = min_[0] + kColumnGap + min_[next++];
      while (next < natural_.size() &&
             used + kColumnGap + min_[next] <= width) {
        used += kColumnGap + min_[next++];
      }
      const FittedTable block(Columns(begin, next), has_header_);
      absl::StrAppend(&text, text.empty() ? "" : "\n",
                      block.Print(block.Shrunk(width)));
    }
    return text;
  }

  // The first column and those from `begin` to `end`.
  CellRows Columns(size_t begin, size_t end) const {
    CellRows rows;
    for (const std::vector<StyledCell>& row : rows_) {
      std::vector<StyledCell>& part = rows.emplace_back();
      if (!row.empty()) part.push_back(row[0]);
      for (size_t i = begin; i < std::min(end, row.size()); ++i) {
        part.push_back(row[i]);
      }
    }
    return rows;
  }

  std::string Print(const std::vector<int>& widths) const {
    std::string text;
    for (size_t r = 0; r < rows_.size(); ++r) {
      text += PrintRow(rows_[r], has_header_ && r == 0, widths);
    }
    return text;
  }

  static std::string PrintRow(const std::vector<StyledCell>& row,
                              bool is_header, const std::vector<int>& widths) {
    std::vector<std::vector<std::string>> cells;
    size_t line_count = 1;
    for (size_t i = 0; i < row.size(); ++i) {
      // Cells that fit keep their spaces.
      cells.push_back(DisplayWidth(row[i].text) <= widths[i]
                          ? std::vector<std::string>{row[i].text}
                          : WrapWords(row[i].text, widths[i]));
      line_count = std::max(line_count, cells.back().size());
    }
    std::string text;
    for (size_t n = 0; n < line_count; ++n) {
      std::string line;
      int end = 0;  // where the last cell ends
      int begin = 0;
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string part = n < cells[i].size() ? cells[i][n] : "";
        if (!part.empty()) {
          const StyledCell::Style style = is_header ? Bold : row[i].style;
          absl::StrAppend(&line, std::string(begin - end, ' '),
                          style != nullptr ? style(part) : part);
          end = begin + DisplayWidth(part);
        }
        begin = std::max(begin + widths[i], end) + kColumnGap;
      }
      absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
    }
    return text;
  }

  const CellRows rows_;
  const bool has_header_;
  // The widths of the columns: of the widest cell, and of the narrowest form.
  std::vector<int> natural_;
  std::vector<int> min_;
};

}  // namespace

std::string FormatRows(const std::vector<std::vector<std::string>>& rows,
                       int width) {
  CellRows cells;
  for (const std::vector<std::string>& row : rows) {
    cells.emplace_back(row.begin(), row.end());
  }
  return FormatStyledRows(cells, width);
}

std::string FormatStyledRows(const std::vector<std::vector<StyledCell>>& rows,
                             int width) {
  if (rows.empty()) return "";
  CellRows escaped = rows;
  for (std::vector<StyledCell>& row : escaped) {
    for (StyledCell& cell : row) cell.text = PrintableLine(cell.text);
  }
  const bool has_header = IsHeader(escaped.front());
  return FittedTable(std::move(escaped), has_header).Format(width);
}

}  // namespace locus::client
