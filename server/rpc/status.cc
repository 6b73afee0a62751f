#include "server/rpc/status.h"

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/admission/rejection.h"
#include "server/base/printable.h"

namespace locus::server {
namespace {

constexpr char kDomain[] = "locus.v1";
constexpr size_t kMaxMessageBytes = 1024;
constexpr size_t kMaxFieldBytes = 256;

absl::string_view ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "INVALID_FIELD";
    case absl::StatusCode::kResourceExhausted:
      return "LIMIT_EXCEEDED";
    case absl::StatusCode::kUnavailable: {
      const RejectReason* reason = RejectReasonOf(status);
      const bool draining =
          reason != nullptr && *reason == RejectReason::kDraining;
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

bool IsServerError(absl::StatusCode code) {
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

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const bool is_server_error = IsServerError(status.code());
  const absl::StatusCode code =
      is_server_error ? absl::StatusCode::kInternal : status.code();
  const std::string message =
      is_server_error
          ? "internal error; the server's log has it under this request id"
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

}  // namespace locus::server
