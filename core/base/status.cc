#include "core/base/status.h"

#include <optional>

#include "absl/strings/cord.h"

namespace locus {
namespace {

constexpr char kFieldUrl[] = "locus/field";
constexpr char kLimitUrl[] = "locus/limit";

std::string Payload(const absl::Status& status, const char* url) {
  const auto payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status InvalidField(absl::string_view field, absl::string_view what) {
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat(field, ": ", what));
  status.SetPayload(kFieldUrl, absl::Cord(field));
  return status;
}

absl::Status LimitExceeded(absl::string_view field, absl::string_view limit,
                           absl::string_view what) {
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat(field, ": ", what));
  status.SetPayload(kFieldUrl, absl::Cord(field));
  status.SetPayload(kLimitUrl, absl::Cord(limit));
  return status;
}

std::string FieldOf(const absl::Status& status) {
  return Payload(status, kFieldUrl);
}

std::string LimitOf(const absl::Status& status) {
  return Payload(status, kLimitUrl);
}

absl::Status Within(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status result(status.code(),
                      absl::StrCat(prefix, ".", status.message()));
  result.SetPayload(kFieldUrl,
                    absl::Cord(absl::StrCat(prefix, ".", FieldOf(status))));
  if (const std::string limit = LimitOf(status); !limit.empty()) {
    result.SetPayload(kLimitUrl, absl::Cord(limit));
  }
  return result;
}

}  // namespace locus
