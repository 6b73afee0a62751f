#include "client/cli/labs/lab_report.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace locus::client {
namespace {

constexpr size_t kStoryWidth = 79;

size_t CodePoints(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(),
                    [](char byte) { return (byte & 0xc0) != 0x80; }));
}

}  // namespace

std::string WrapText(absl::string_view text, size_t width) {
  std::string wrapped;
  size_t used = 0;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t size = CodePoints(word);
    if (used > 0 && used + 1 + size > width) {
      wrapped += "\n";
      used = 0;
    }
    absl::StrAppend(&wrapped, used > 0 ? " " : "", word);
    used += size + (used > 0 ? 1 : 0);
  }
  return wrapped;
}

void LabReport::Heading(const Text& text) {
  const std::string title = text.In(language_);
  absl::StrAppend(&story_, story_.empty() ? "" : "\n", title, "\n",
                  std::string(CodePoints(title), '-'), "\n");
}

void LabReport::AddParagraph(absl::string_view text) {
  absl::StrAppend(&story_, "\n", WrapText(text, kStoryWidth), "\n");
}

void LabReport::Show(absl::string_view lines) {
  absl::StrAppend(&story_, "\n", lines,
                  absl::EndsWith(lines, "\n") ? "" : "\n");
}

void LabReport::AddAssertion(bool passed, std::string claim) {
  const std::string wrapped = WrapText(claim, kStoryWidth - 6);
  absl::StrAppend(&story_, "\n", passed ? "PASS  " : "FAIL  ",
                  absl::StrReplaceAll(wrapped, {{"\n", "\n      "}}), "\n");
  assertions_.push_back({passed, std::move(claim)});
}

int LabReport::failed_count() const {
  return static_cast<int>(
      std::count_if(assertions_.begin(), assertions_.end(),
                    [](const Assertion& a) { return !a.passed; }));
}

}  // namespace locus::client
