// Layout of text on a terminal: width in columns, padding and line breaks.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace locus::client {

// The number of terminal columns that a line of UTF-8 text takes. East Asian
// wide characters and emoji take two columns; combining characters and colour
// sequences (ESC [ ... m) take none.
int DisplayWidth(absl::string_view text);

// Returns `text` with spaces before or after it, at least `width` columns wide.
std::string PadLeft(absl::string_view text, int width);
std::string PadRight(absl::string_view text, int width);

// Returns the longest prefix of `text` that is at most `width` columns wide and
// ends between two characters. Returns at least one character, unless `text` is
// empty.
absl::string_view PrefixOfWidth(absl::string_view text, int width);

// Breaks `text` at white space into lines of at most `width` columns. A longer
// word gets a line of its own and is not broken. Returns at least one line.
std::vector<std::string> WrapWords(absl::string_view text, int width);

// WrapWords() as one text that ends with a newline. The lines are indented by
// `indent` columns, which count towards `width`.
std::string WrapParagraph(absl::string_view text, int width, int indent = 0);

}  // namespace locus::client
