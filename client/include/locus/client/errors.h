// What a server says when it says no.
//
// An error of a call is an absl::Status with the server's code and message.
// The structured details that came with it are payloads of the status, keyed by
// type URL; the functions below read them. They answer "nothing" for a status
// that has none, so that they can be asked of any error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace locus::client {

// One thing wrong with a request.
struct FieldViolation {
  // The path within the request, such as `scheme.rope.base`.
  std::string field;
  // Its value and what is allowed.
  std::string description;
};

std::vector<FieldViolation> FieldViolations(const absl::Status& status);

// How long the server asks to stay away, if it does.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// The machine-readable reason, in capitals; empty if there is none.
std::string ErrorReason(const absl::Status& status);

// The same code and message, details as payloads. Details that cannot be read
// are dropped.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace locus::client
