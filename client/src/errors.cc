#include "locus/client/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace locus::client {
namespace {

// Returns the payload of type `Detail`, or nullopt if there is none or it
// cannot be parsed.
template <typename Detail>
std::optional<Detail> FindDetail(const absl::Status& status) {
  const auto payload = status.GetPayload(
      absl::StrCat("type.googleapis.com/", Detail::descriptor()->full_name()));
  Detail detail;
  if (!payload.has_value() ||
      !detail.ParseFromString(static_cast<std::string>(*payload))) {
    return std::nullopt;
  }
  return detail;
}

}  // namespace

std::vector<FieldViolation> FieldViolations(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  const auto bad_request = FindDetail<google::rpc::BadRequest>(status);
  if (!bad_request.has_value()) return violations;
  for (const auto& violation : bad_request->field_violations()) {
    violations.push_back({violation.field(), violation.description()});
  }
  return violations;
}

std::optional<absl::Duration> RetryDelay(const absl::Status& status) {
  const auto info = FindDetail<google::rpc::RetryInfo>(status);
  if (!info.has_value() || !info->has_retry_delay()) return std::nullopt;
  return absl::Seconds(info->retry_delay().seconds()) +
         absl::Nanoseconds(info->retry_delay().nanos());
}

std::string ErrorReason(const absl::Status& status) {
  const auto info = FindDetail<google::rpc::ErrorInfo>(status);
  return info.has_value() ? info->reason() : "";
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return result;
  for (const auto& detail : details.details()) {
    result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return result;
}

}  // namespace locus::client
