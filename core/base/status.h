// Errors in requests.
//
// Functions that validate input return absl::Status. The message names the
// field, its value and the allowed values. The field path is also attached as a
// payload, so that a server can report it as a structured error detail. Field
// paths follow the protocol's messages, such as `scheme.rope.base`.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace locus {

// INVALID_ARGUMENT with the message "<field>: <reason>". The reason states the
// value and the rule that it violates.
absl::Status InvalidField(absl::string_view field, absl::string_view reason);

// RESOURCE_EXHAUSTED with the message "<field>: <reason>". `limit` is the name
// of the limit that was exceeded.
absl::Status LimitExceeded(absl::string_view field, absl::string_view limit,
                           absl::string_view reason);

// Field path of an error made by InvalidField() or LimitExceeded(); empty for
// other statuses.
std::string FieldOf(const absl::Status& status);

// Name of the limit of an error made by LimitExceeded(); empty for other
// statuses.
std::string LimitOf(const absl::Status& status);

// Copy of an error with `prefix.` prepended to its field path and message. Use
// it to report an error of a nested message from the message that contains it.
absl::Status Within(absl::string_view prefix, const absl::Status& status);

// Copy of an error whose field path and message begin with `to` instead of
// `from`: `scheme.rope.base` becomes `schemes[2].rope.base`. Errors that begin
// differently are returned unchanged.
absl::Status Renamed(absl::string_view from, absl::string_view to,
                     const absl::Status& status);

}  // namespace locus

#define LOCUS_CONCAT_INNER(a, b) a##b
#define LOCUS_CONCAT(a, b) LOCUS_CONCAT_INNER(a, b)

// Returns from the enclosing function if the expression, an absl::Status, is
// not OK.
#define LOCUS_RETURN_IF_ERROR(expression)                               \
  do {                                                                  \
    if (absl::Status locus_status = (expression); !locus_status.ok()) { \
      return locus_status;                                              \
    }                                                                   \
  } while (false)

// Moves the value of the expression, an absl::StatusOr, into the target, which
// may be a declaration. Returns from the enclosing function if there is none.
#define LOCUS_ASSIGN_OR_RETURN(target, expression)                        \
  LOCUS_ASSIGN_OR_RETURN_INNER(LOCUS_CONCAT(locus_or_, __LINE__), target, \
                               expression)

#define LOCUS_ASSIGN_OR_RETURN_INNER(value, target, expression) \
  auto value = (expression);                                    \
  if (!value.ok()) return value.status();                       \
  target = *std::move(value)
