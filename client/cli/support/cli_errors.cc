#include "client/cli/support/cli_errors.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "locus/client/errors.h"

namespace locus::client {
namespace {

constexpr char kUsagePayload[] = "locus/usage";
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

// Whether a name ends before `c`, or begins after it.
bool IsBoundary(char c) {
  return !absl::ascii_isalnum(c) && c != '_' && c != '.';
}

// Replaces each whole occurrence of a field path in `text`.
void ReplaceField(const std::string& field, const std::string& flag,
                  std::string* text) {
  for (size_t at = text->find(field); at != std::string::npos;
       at = text->find(field, at)) {
    const size_t end = at + field.size();
    const bool is_whole = (at == 0 || IsBoundary((*text)[at - 1])) &&
                          (end == text->size() || IsBoundary((*text)[end]));
    if (!is_whole) {
      at = end;
      continue;
    }
    text->replace(at, field.size(), flag);
    at += flag.size();
  }
}

// The message of an error in `field`, which `flag` sets because it is `prefix`
// or below it.
std::string WithFlags(absl::string_view message, absl::string_view field,
                      absl::string_view prefix, absl::string_view flag,
                      const FlagHints& hints) {
  if (absl::ConsumePrefix(&message, field)) {
    absl::ConsumePrefix(&message, ":");
    message = absl::StripLeadingAsciiWhitespace(message);
  }
  std::string text(message);
  // Fields of the request itself, such as `dim`, may be words of the sentence.
  for (const auto& [other, other_flag] : hints) {
    if (absl::StrContains(other, '.')) ReplaceField(other, other_flag, &text);
  }
  absl::string_view rest = field.substr(prefix.size());
  absl::ConsumePrefix(&rest, ".");
  return absl::StrCat(flag, ": ", rest, rest.empty() ? "" : ": ", text);
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
      if (!IsWithin(violation.field, prefix)) continue;
      const std::string message =
          WithFlags(status.message(), violation.field, prefix, flag, hints);
      return absl::IsInvalidArgument(status)
                 ? UsageError(message)
                 : absl::Status(status.code(), message);
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
