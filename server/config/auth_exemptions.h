// Parts of the server that need no bearer token (--auth-exempt).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::server {

struct AuthExemptions {
  bool health = false;      // grpc.health.v1
  bool reflection = false;  // grpc.reflection
  bool metrics = false;     // GET /metrics
};

// Parses a comma-separated list such as "health,metrics". INVALID_ARGUMENT
// names the first unknown entry.
absl::StatusOr<AuthExemptions> ParseAuthExemptions(absl::string_view text);

}  // namespace locus::server
