#include "client/cli/support/cli_errors.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "locus/client/errors.h"

namespace locus::client {
namespace {

constexpr char kUsagePayload[] = "locus/usage";
constexpr char kHintPayload[] = "locus/hint";
constexpr char kExcerptPayload[] = "locus/excerpt";

bool IsUsage(const absl::Status& status) {
  return status.GetPayload(kUsagePayload).has_value();
}

// Whether the field `path` is `prefix` or a field below it.
bool IsWithin(absl::string_view path, absl::string_view prefix) {
  return absl::StartsWith(path, prefix) &&
         (path.size() == prefix.size() || path[prefix.size()] == '.' ||
          path[prefix.size()] == '[');
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

absl::Status AsUsage(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status usage = UsageError(
      context.empty() ? std::string(status.message())
                      : absl::StrCat(context, ": ", status.message()));
  const std::string excerpt = ErrorExcerpt(status);
  return excerpt.empty() ? usage : WithExcerpt(std::move(usage), excerpt);
}

absl::Status WithExcerpt(absl::Status status, absl::string_view excerpt) {
  status.SetPayload(kExcerptPayload, absl::Cord(excerpt));
  return status;
}

absl::Status WithFlagHint(absl::Status status, const FlagHints& hints) {
  for (const FieldViolation& violation : FieldViolations(status)) {
    for (const auto& [prefix, flag] : hints) {
      if (IsWithin(violation.field, prefix)) {
        status.SetPayload(kHintPayload, absl::Cord(flag));
        return status;
      }
    }
  }
  return status;
}

std::string ErrorLine(const absl::Status& status) {
  std::string line(status.message());
  if (!IsUsage(status)) {
    line = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", line);
  }
  for (const FieldViolation& violation : FieldViolations(status)) {
    if (!absl::StrContains(line, violation.field)) {
      absl::StrAppend(&line, " (field ", violation.field, ")");
    }
  }
  if (const auto hint = status.GetPayload(kHintPayload); hint.has_value()) {
    absl::StrAppend(&line, " (set it with ", static_cast<std::string>(*hint),
                    ")");
  }
  return absl::StrReplaceAll(line, {{"\r", ""}, {"\n", " "}});
}

std::string ErrorExcerpt(const absl::Status& status) {
  const auto excerpt = status.GetPayload(kExcerptPayload);
  return excerpt.has_value() ? static_cast<std::string>(*excerpt) : "";
}

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  return IsUsage(status) ? 2 : 1;
}

}  // namespace locus::client
