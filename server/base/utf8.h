// Telling text from bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus::server {

// How many bytes the well-formed UTF-8 character at the start of `text` takes;
// 0 if there is none (RFC 3629: no overlong forms, no surrogates).
size_t Utf8Length(absl::string_view text);

// The code point of a character of which Utf8Length found the length.
uint32_t CodePointOf(absl::string_view character);

// Whether a character could make a line look like something else: controls (C0,
// DEL, C1), ends of lines and paragraphs, and marks that turn the direction of
// what follows.
bool IsDeceptive(uint32_t code_point);

}  // namespace locus::server
