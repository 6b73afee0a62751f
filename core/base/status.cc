#include "core/base/status.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"

namespace locus {
namespace {

constexpr char kFieldUrl[] = "locus/field";
constexpr char kLimitUrl[] = "locus/limit";

std::string Payload(const absl::Status& status, const char* url) {
  const auto payload = status.GetPayload(url);
  return payload.has_value() ? std::string(*payload) : std::string();
}

// Copy of an error with another field path and message.
absl::Status WithText(const absl::Status& status, absl::string_view field,
                      absl::string_view message) {
  absl::Status result(status.code(), message);
  result.SetPayload(kFieldUrl, absl::Cord(field));
  if (const auto limit = status.GetPayload(kLimitUrl)) {
    result.SetPayload(kLimitUrl, *limit);
  }
  return result;
}

}  // namespace

absl::Status InvalidField(absl::string_view field, absl::string_view reason) {
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat(field, ": ", reason));
  status.SetPayload(kFieldUrl, absl::Cord(field));
  return status;
}

absl::Status LimitExceeded(absl::string_view field, absl::string_view limit,
                           absl::string_view reason) {
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat(field, ": ", reason));
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
  return WithText(status, absl::StrCat(prefix, ".", FieldOf(status)),
                  absl::StrCat(prefix, ".", status.message()));
}

absl::Status Renamed(absl::string_view from, absl::string_view to,
                     const absl::Status& status) {
  const std::string field = FieldOf(status);
  if (!absl::StartsWith(field, from)) return status;
  return WithText(
      status, absl::StrCat(to, absl::string_view(field).substr(from.size())),
      absl::StrCat(to, status.message().substr(from.size())));
}

}  // namespace locus
