// Errors in the text of a scheme.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace locus::client {

// The place and the meaning of an error in the text of a scheme.
struct SchemeError {
  // The byte of the text that the error is about; its size for an error at the
  // end.
  size_t offset = 0;
  std::string message;
  // A correct text of the same scheme; may be empty.
  std::string example;
};

// INVALID_ARGUMENT with the column of the error, and an excerpt for
// ErrorExcerpt() in client/cli/support/cli_errors.h: the line of the text, a
// caret below the offending character, and the example.
absl::Status SchemeErrorStatus(absl::string_view text,
                               const SchemeError& error);

}  // namespace locus::client
