#include "server/rpc/status.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "server/base/utf8.h"

namespace locus::server {
namespace {

constexpr char kShedUrl[] = "locus/shed";
constexpr char kDomain[] = "locus.v1";
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxFieldBytes = 256;
constexpr char kDelayUrl[] = "locus/retry-delay-us";

absl::Duration UsualDelay(ShedReason reason) {
  switch (reason) {
    case ShedReason::kDraining:
      // The time a load balancer takes to find another server.
      return absl::Seconds(1);
    case ShedReason::kEvaluations:
      // Evaluations take from seconds to hours.
      return absl::Seconds(5);
    default:
      // Long enough for a queue to move, short enough not to be noticed.
      return absl::Milliseconds(100);
  }
}

absl::string_view ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_FIELD";
    case absl::StatusCode::kResourceExhausted:
      return "LIMIT_EXCEEDED";
    case absl::StatusCode::kUnavailable: {
      const ShedReason* reason = ShedReasonOf(status);
      const bool draining =
          reason != nullptr && *reason == ShedReason::kDraining;
      return draining ? "DRAINING" : "OVERLOADED";
    }
    case absl::StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case absl::StatusCode::kCancelled:
      return "CANCELLED";
    default:
      return "INTERNAL";
  }
}

google::rpc::ErrorInfo MakeErrorInfo(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonOf(status)));
  info.set_domain(kDomain);
  if (const std::string field = FieldOf(status); !field.empty()) {
    (*info.mutable_metadata())["field"] = Printable(field, kMaxFieldBytes);
  }
  if (const std::string limit = LimitOf(status); !limit.empty()) {
    (*info.mutable_metadata())["limit"] = limit;
  }
  return info;
}

google::rpc::BadRequest MakeBadRequest(const absl::Status& status,
                                       const std::string& message) {
  google::rpc::BadRequest bad_request;
  auto* violation = bad_request.add_field_violations();
  violation->set_field(Printable(FieldOf(status), kMaxFieldBytes));
  violation->set_description(message);
  return bad_request;
}

google::rpc::QuotaFailure MakeQuotaFailure(const absl::Status& status,
                                           const std::string& message) {
  google::rpc::QuotaFailure failure;
  auto* violation = failure.add_violations();
  violation->set_subject(LimitOf(status));
  violation->set_description(message);
  return failure;
}

google::rpc::RetryInfo MakeRetryInfo(const absl::Status& status) {
  const int64_t millis = absl::ToInt64Milliseconds(RetryDelayOf(status));
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(millis / 1000);
  info.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(millis % 1000 * 1'000'000));
  return info;
}

bool IsOurFault(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return false;
    default:
      return true;
  }
}

}  // namespace

absl::string_view NameOf(ShedReason reason) {
  switch (reason) {
    case ShedReason::kQueueFull:
      return "queue_full";
    case ShedReason::kDeadline:
      return "deadline";
    case ShedReason::kMemory:
      return "memory";
    case ShedReason::kDraining:
      return "draining";
    case ShedReason::kEvaluations:
      return "evaluations";
  }
  return "";
}

absl::Status Shed(ShedReason reason, absl::string_view what) {
  return Shed(reason, what, UsualDelay(reason));
}

absl::Status Shed(ShedReason reason, absl::string_view what,
                  absl::Duration delay) {
  absl::Status status = absl::UnavailableError(what);
  status.SetPayload(kShedUrl, absl::Cord(NameOf(reason)));
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
  return UsualDelay(ShedReason::kQueueFull);
}

const ShedReason* ShedReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kShedUrl);
  if (!payload.has_value()) return nullptr;
  for (const ShedReason& reason : kShedReasons) {
    if (*payload == NameOf(reason)) return &reason;
  }
  return nullptr;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const bool ours = IsOurFault(status.code());
  const absl::StatusCode code =
      ours ? absl::StatusCode::kInternal : status.code();
  const std::string message =
      ours ? "internal error; the server's log has it under this request id"
           : Printable(status.message(), kMaxMessageBytes);

  google::rpc::Status details;
  details.set_code(static_cast<int>(code));
  details.set_message(message);
  details.add_details()->PackFrom(MakeErrorInfo(status));
  if (code == absl::StatusCode::kInvalidArgument) {
    details.add_details()->PackFrom(MakeBadRequest(status, message));
  } else if (code == absl::StatusCode::kResourceExhausted) {
    details.add_details()->PackFrom(MakeQuotaFailure(status, message));
  } else if (code == absl::StatusCode::kUnavailable) {
    details.add_details()->PackFrom(MakeRetryInfo(status));
  }
  return grpc::Status(static_cast<grpc::StatusCode>(code), message,
                      details.SerializeAsString());
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  // Most texts are as they should be, and to refuse a call should cost little.
  if (text.size() <= max_bytes && absl::c_all_of(text, absl::ascii_isprint)) {
    return std::string(text);
  }
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const size_t step = length == 0 ? 1 : length;
    std::string piece(text.substr(0, step));
    const uint32_t code_point = CodePointOf(piece);
    if (step == 1 && (length == 0 || IsDeceptive(code_point))) {
      piece = absl::StrCat("\\x", absl::BytesToHexString(piece));
    } else if (IsDeceptive(code_point)) {
      piece = absl::StrFormat("\\u%04x", code_point);
    }
    if (result.size() + piece.size() > max_bytes) return result + "...";
    result += piece;
    text.remove_prefix(step);
  }
  return result;
}

}  // namespace locus::server
