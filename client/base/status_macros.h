// Macros that return the error of a Status or StatusOr to the caller. For use
// within client/ only; they are not part of the public headers.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define CLIENT_CONCAT_INNER(a, b) a##b
#define CLIENT_CONCAT(a, b) CLIENT_CONCAT_INNER(a, b)

// Returns from the function if `expression` is not OK.
#define CLIENT_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (absl::Status client_status = (expression); !client_status.ok()) { \
      return client_status;                                               \
    }                                                                     \
  } while (false)

// Assigns the value of `expression`, a StatusOr, to `target`, which may declare
// a variable. Returns from the function if `expression` is not OK.
#define CLIENT_ASSIGN_OR_RETURN(target, expression)                          \
  CLIENT_ASSIGN_OR_RETURN_INNER(CLIENT_CONCAT(client_or_, __LINE__), target, \
                                expression)

#define CLIENT_ASSIGN_OR_RETURN_INNER(value, target, expression) \
  auto value = (expression);                                     \
  if (!value.ok()) return value.status();                        \
  target = *std::move(value)
