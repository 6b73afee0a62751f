// Rejection of calls that are valid but cannot be served now: an absl::Status
// of code UNAVAILABLE that carries a reason and a retry delay.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace locus::server {

// Why a valid call was rejected. Label of locus_rejected_calls_total.
enum class RejectReason {
  kQueueFull,
  kDeadline,
  kMemory,
  kDraining,
  kEvaluations
};
inline constexpr RejectReason kRejectReasons[] = {
    RejectReason::kQueueFull, RejectReason::kDeadline, RejectReason::kMemory,
    RejectReason::kDraining, RejectReason::kEvaluations};
// "queue_full", "deadline", "memory", "draining" or "evaluations".
absl::string_view NameOf(RejectReason reason);

// An UNAVAILABLE status with this reason and message. `delay` is the time after
// which a retry may succeed; its default depends on the reason.
absl::Status Reject(RejectReason reason, absl::string_view message);
absl::Status Reject(RejectReason reason, absl::string_view message,
                    absl::Duration delay);

// The reason of a status made by Reject; null for any other status.
const RejectReason* RejectReasonOf(const absl::Status& status);
// The retry delay of an UNAVAILABLE status.
absl::Duration RetryDelayOf(const absl::Status& status);

}  // namespace locus::server
