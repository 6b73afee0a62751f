// Mapping of absl::Status to the status that clients receive.
//
// A client receives the code, a short message, and details for programs
// (google.rpc.Status): the wrong field (BadRequest), the limit that was
// exceeded (QuotaFailure) or the retry delay (RetryInfo), and an ErrorInfo
// with one of these reasons:
//
//   INVALID_FIELD      a field of the request is wrong; metadata: field
//   LIMIT_EXCEEDED     the request can never fit; metadata: limit, field
//   OVERLOADED         the server has too much work at the moment
//   DRAINING           the server is shutting down
//   DEADLINE_EXCEEDED  the deadline of the call passed
//   CANCELLED          the call was cancelled
//   INTERNAL           a server error; the message reveals nothing else
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace locus::server {

// The status that clients receive. Messages are valid UTF-8 without control
// characters and at most about 1 KiB long. INTERNAL and UNKNOWN errors reveal
// only their code.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace locus::server
