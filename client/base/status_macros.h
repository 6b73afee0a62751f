// Passing errors on, within the client.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define CLIENT_CONCAT_INNER(a, b) a##b
#define CLIENT_CONCAT(a, b) CLIENT_CONCAT_INNER(a, b)

#define CLIENT_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (absl::Status client_status = (expression); !client_status.ok()) { \
      return client_status;                                               \
    }                                                                     \
  } while (false)

#define CLIENT_ASSIGN_OR_RETURN(target, expression)                          \
  CLIENT_ASSIGN_OR_RETURN_INNER(CLIENT_CONCAT(client_or_, __LINE__), target, \
                                expression)

#define CLIENT_ASSIGN_OR_RETURN_INNER(value, target, expression) \
  auto value = (expression);                                     \
  if (!value.ok()) return value.status();                        \
  target = *std::move(value)
