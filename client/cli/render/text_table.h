// Tables of text that fit the terminal.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/support/terminal.h"

namespace locus::client {

// A cell with a style of color.h, such as Good. The style is applied after the
// text has been escaped and measured.
struct StyledCell {
  using Style = std::string (*)(absl::string_view text);

  // Implicit, so that rows can be written as lists of strings.
  StyledCell(const char* cell_text) : text(cell_text) {}             // NOLINT
  StyledCell(std::string cell_text) : text(std::move(cell_text)) {}  // NOLINT
  StyledCell(std::string cell_text, Style cell_style)
      : text(std::move(cell_text)), style(cell_style) {}

  std::string text;
  Style style = nullptr;
};

// Left-aligned columns separated by two spaces. Cells are escaped with
// PrintableLine(). A first row in capitals is a header and printed bold.
//
// A table that is wider than `width` is made to fit without losing data: long
// cells are wrapped at words, the widest column first. If that is not enough, a
// table with a header is printed as several blocks of columns, each of which
// begins with the first column. Words are never broken, so a line with a very
// long word can be wider.
std::string FormatRows(const std::vector<std::vector<std::string>>& rows,
                       int width = OutputColumns());
std::string FormatStyledRows(const std::vector<std::vector<StyledCell>>& rows,
                             int width = OutputColumns());

}  // namespace locus::client
