// Telling text from bytes.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace locus::server {

// How many bytes the well-formed UTF-8 character at the start of `text` takes;
// 0 if there is none (RFC 3629: no overlong forms, no surrogates).
size_t Utf8Length(absl::string_view text);

}  // namespace locus::server
