// Decoding of single UTF-8 characters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus::server {

// Returns the length in bytes of the first character of `text`, or 0 if `text`
// is empty or does not begin with well-formed UTF-8 (RFC 3629: no overlong
// forms, no surrogates).
size_t Utf8Length(absl::string_view text);

// Returns the code point of `character`, which must be exactly one well-formed
// character, as measured by Utf8Length().
uint32_t CodePointOf(absl::string_view character);

// Returns true for characters that can disguise a line of text: control
// characters (C0, DEL, C1), line and paragraph separators, and bidirectional
// formatting characters.
bool IsDeceptive(uint32_t code_point);

}  // namespace locus::server
