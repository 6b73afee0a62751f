#include "client/cli/requests/scheme_error.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/printable.h"
#include "client/cli/support/cli_errors.h"

namespace locus::client {
namespace {

// The columns that UTF-8 text takes, for text without wide characters.
size_t ColumnsOf(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  });
}

// The line with a caret below the byte at `column`. Of a long line, only the
// part around the column is shown.
std::string CaretLines(absl::string_view line, size_t column) {
  constexpr size_t kMaxWidth = 72;
  constexpr size_t kMaxBefore = 48;
  absl::string_view prefix;
  if (line.size() > kMaxWidth && column > kMaxBefore) {
    line.remove_prefix(column - kMaxBefore);
    column = kMaxBefore;
    prefix = "...";
  }
  const std::string before =
      absl::StrCat(prefix, PrintableLine(line.substr(0, column)));
  const absl::string_view after =
      line.substr(column, kMaxWidth - std::min(column, kMaxWidth));
  return absl::StrCat("  ", before, PrintableLine(after),
                      column + after.size() < line.size() ? "..." : "", "\n  ",
                      std::string(ColumnsOf(before), ' '), "^\n");
}

}  // namespace

absl::Status SchemeErrorStatus(absl::string_view text,
                               const SchemeError& error) {
  const size_t offset = std::min(error.offset, text.size());
  const absl::string_view before = text.substr(0, offset);
  const size_t line_number = std::count(before.begin(), before.end(), '\n');
  const size_t start = line_number == 0 ? 0 : before.rfind('\n') + 1;
  const absl::string_view line =
      text.substr(start, text.find('\n', start) - start);
  std::string place = absl::StrCat("column ", offset - start + 1, ": ");
  if (absl::StrContains(text, '\n')) {
    place = absl::StrCat("line ", line_number + 1, ", ", place);
  }
  std::string excerpt = CaretLines(line, offset - start);
  if (!error.example.empty()) {
    absl::StrAppend(&excerpt, "  for example: ", error.example, "\n");
  }
  return WithExcerpt(
      absl::InvalidArgumentError(absl::StrCat(place, error.message)), excerpt);
}

}  // namespace locus::client
