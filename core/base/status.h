// Errors of the caller's making.
//
// A function that can be asked for something wrong returns absl::Status. The
// message names the field, its value and what is allowed; the field also
// travels apart from the message, so that a server can report it as structured
// detail. Field paths are those of the contract, such as `scheme.rope.base`.
#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace locus {

// INVALID_ARGUMENT: "<field>: <what>". `what` states the value and the rule.
absl::Status InvalidField(absl::string_view field, absl::string_view what);

// RESOURCE_EXHAUSTED: "<field>: <what>". `limit` is the name of the limit hit.
absl::Status LimitExceeded(absl::string_view field, absl::string_view limit,
                           absl::string_view what);

// The field of an error made by the functions above; empty for any other.
std::string FieldOf(const absl::Status& status);

// The limit of an error made by LimitExceeded; empty for any other.
std::string LimitOf(const absl::Status& status);

// The same error with `prefix.` before its field and its message: a part that
// was checked alone takes its place in the whole.
absl::Status Within(absl::string_view prefix, const absl::Status& status);

// The same error with `to` instead of `from` at the beginning of its field and
// its message, if it begins so: `scheme.rope.base` becomes
// `schemes[2].rope.base`.
absl::Status Renamed(absl::string_view from, absl::string_view to,
                     const absl::Status& status);

}  // namespace locus

#define LOCUS_CONCAT_INNER(a, b) a##b
#define LOCUS_CONCAT(a, b) LOCUS_CONCAT_INNER(a, b)

#define LOCUS_RETURN_IF_ERROR(expression)                               \
  do {                                                                  \
    if (absl::Status locus_status = (expression); !locus_status.ok()) { \
      return locus_status;                                              \
    }                                                                   \
  } while (false)

#define LOCUS_ASSIGN_OR_RETURN(target, expression)                        \
  LOCUS_ASSIGN_OR_RETURN_INNER(LOCUS_CONCAT(locus_or_, __LINE__), target, \
                               expression)

#define LOCUS_ASSIGN_OR_RETURN_INNER(value, target, expression) \
  auto value = (expression);                                    \
  if (!value.ok()) return value.status();                       \
  target = *std::move(value)
