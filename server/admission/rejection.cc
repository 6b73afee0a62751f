#include "server/admission/rejection.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

// Keys of the payloads that carry reason and delay within an absl::Status.
constexpr char kRejectReasonUrl[] = "locus/reject-reason";
constexpr char kDelayUrl[] = "locus/retry-delay-us";

absl::Duration DefaultRetryDelay(RejectReason reason) {
  switch (reason) {
    case RejectReason::kDraining:
      // The time a load balancer takes to find another server.
      return absl::Seconds(1);
    case RejectReason::kEvaluations:
      // Evaluations take from seconds to hours.
      return absl::Seconds(5);
    default:
      // A queue drains noticeably in this time, and users hardly notice it.
      return absl::Milliseconds(100);
  }
}

}  // namespace

absl::string_view NameOf(RejectReason reason) {
  switch (reason) {
    case RejectReason::kQueueFull:
      return "queue_full";
    case RejectReason::kDeadline:
      return "deadline";
    case RejectReason::kMemory:
      return "memory";
    case RejectReason::kDraining:
      return "draining";
    case RejectReason::kEvaluations:
      return "evaluations";
  }
  return "";
}

absl::Status Reject(RejectReason reason, absl::string_view message) {
  return Reject(reason, message, DefaultRetryDelay(reason));
}

absl::Status Reject(RejectReason reason, absl::string_view message,
                    absl::Duration delay) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kRejectReasonUrl, absl::Cord(NameOf(reason)));
  status.SetPayload(kDelayUrl,
                    absl::Cord(absl::StrCat(absl::ToInt64Microseconds(delay))));
  return status;
}

absl::Duration RetryDelayOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kDelayUrl);
  int64_t micros = 0;
  if (payload && absl::SimpleAtoi(std::string(*payload), &micros)) {
    return absl::Microseconds(micros);
  }
  return DefaultRetryDelay(RejectReason::kQueueFull);
}

const RejectReason* RejectReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kRejectReasonUrl);
  if (!payload.has_value()) return nullptr;
  for (const RejectReason& reason : kRejectReasons) {
    if (*payload == NameOf(reason)) return &reason;
  }
  return nullptr;
}

}  // namespace locus::server
