// Escaping of untrusted text for error messages and logs.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace locus::server {

// Returns `text` with invalid UTF-8 written as \xNN and deceptive characters
// (see IsDeceptive) as \xNN or \uNNNN. The result is cut at a character
// boundary: at most `max_bytes`, plus an ellipsis if anything was cut.
std::string Printable(absl::string_view text, size_t max_bytes);

}  // namespace locus::server
