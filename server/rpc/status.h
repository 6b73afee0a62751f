// Errors, as they travel: absl::Status inside, google.rpc.Status on the wire.
//
// A caller learns the code, one short sentence, and details a program can
// read: which field was wrong (BadRequest), which limit was hit (QuotaFailure),
// or when to come back (RetryInfo), each beside an ErrorInfo whose reason is
// one of
//
//   INVALID_FIELD      a field of the request is wrong; metadata: field
//   LIMIT_EXCEEDED     the request can never fit; metadata: limit, field
//   OVERLOADED         too much is going on now
//   DRAINING           the server is shutting down
//   DEADLINE_EXCEEDED  the caller's deadline passed
//   CANCELLED          the caller went away
//   INTERNAL           our fault; says nothing else
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace locus::server {

// Why a call was turned away although nothing was wrong with it.
enum class ShedReason {
  kQueueFull,
  kDeadline,
  kMemory,
  kDraining,
  kEvaluations
};
inline constexpr ShedReason kShedReasons[] = {
    ShedReason::kQueueFull, ShedReason::kDeadline, ShedReason::kMemory,
    ShedReason::kDraining, ShedReason::kEvaluations};
// "queue_full" and so on.
absl::string_view NameOf(ShedReason reason);

// UNAVAILABLE, worth another try after a while; how long usually depends on the
// reason.
absl::Status Shed(ShedReason reason, absl::string_view what);
absl::Status Shed(ShedReason reason, absl::string_view what,
                  absl::Duration delay);

// The reason of an error made by Shed; null for any other.
const ShedReason* ShedReasonOf(const absl::Status& status);
// When to come back, at the earliest, of an UNAVAILABLE error.
absl::Duration RetryDelayOf(const absl::Status& status);

// The status as callers see it. Messages are valid UTF-8 without control
// characters, of at most about 1 KiB. Of INTERNAL and UNKNOWN errors only the
// code gets out.
grpc::Status ToGrpcStatus(const absl::Status& status);

// `text` with bytes that are not UTF-8 written as \xNN, and characters that
// deceive (see server/base/utf8.h) as \xNN or \uNNNN, cut at a character so that at
// most `max_bytes` and an ellipsis are left.
std::string Printable(absl::string_view text, size_t max_bytes);

}  // namespace locus::server
