// Escaping of untrusted text for terminals and text files.
//
// Text from servers, configuration files and other programs may contain
// characters that control a terminal or disguise a line. All text that the
// program prints or writes to a text file goes through one of these functions.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

// Returns `text` with deceptive characters written as \uNNNN: control
// characters (C0, DEL, C1) except newline and tab, line and paragraph
// separators, and bidirectional formatting characters. Each byte that is not
// part of well-formed UTF-8 becomes U+FFFD. Valid JSON stays valid JSON with
// the same meaning, because these characters can only occur in its strings.
std::string Printable(absl::string_view text);

// Same as Printable(), but escapes newlines and tabs as well, so that the
// result stays on its line and in its column.
std::string PrintableLine(absl::string_view text);

}  // namespace locus::client
