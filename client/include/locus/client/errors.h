// Structured details of the errors that a server returns.
//
// The error of a call is an absl::Status with the server's code and message.
// The google.rpc error details that came with it are payloads of the status,
// keyed by type URL. The functions below read these payloads. They accept any
// status, and return an empty result if the status has no such detail.
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

// One invalid field of a request.
struct FieldViolation {
  // Path of the field within the request, such as `scheme.rope.base`.
  std::string field;
  // Value of the field and the rule that it violates.
  std::string description;
};

// Returns the invalid fields of a rejected request (google.rpc.BadRequest).
std::vector<FieldViolation> FieldViolations(const absl::Status& status);

// Returns the delay before a retry that the server asked for
// (google.rpc.RetryInfo), or nullopt.
std::optional<absl::Duration> RetryDelay(const absl::Status& status);

// Returns the machine-readable reason (google.rpc.ErrorInfo) in capitals, such
// as "INVALID_FIELD" (docs/api.md lists them), or an empty string.
std::string ErrorReason(const absl::Status& status);

// Converts a gRPC status, with its details as payloads. Details that cannot be
// parsed are dropped.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace locus::client
