#include "client/cli/render/property_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/cli/render/table.h"

namespace locus::client {
namespace {

std::string VerdictName(v1::PropertyVerdict verdict) {
  switch (verdict) {
    case v1::PROPERTY_VERDICT_HOLDS:
      return "holds";
    case v1::PROPERTY_VERDICT_FAILS:
      return "fails";
    case v1::PROPERTY_VERDICT_NOT_APPLICABLE:
      return "-";
    default:
      return "unknown";
  }
}

std::string PromiseName(v1::PromiseAnswer answer) {
  switch (answer) {
    case v1::PROMISE_ANSWER_YES:
      return "yes";
    case v1::PROMISE_ANSWER_NO:
      return "no";
    case v1::PROMISE_ANSWER_NOT_APPLICABLE:
      return "-";
    default:
      return "";
  }
}

bool IsBroken(const v1::PropertyResult& result) {
  return !result.as_promised() &&
         result.promise() != v1::PROMISE_ANSWER_UNSPECIFIED;
}

std::string ThreeDigits(double value) { return absl::StrFormat("%.3g", value); }

std::vector<std::string> RowOf(const std::string& name,
                               const v1::PropertyResult& result) {
  const bool measured = result.verdict() != v1::PROPERTY_VERDICT_NOT_APPLICABLE;
  return {name,
          result.property(),
          VerdictName(result.verdict()),
          measured ? ThreeDigits(result.measured()) : "-",
          measured ? ThreeDigits(result.tolerance()) : "-",
          PromiseName(result.promise()),
          IsBroken(result) ? "<== PROMISE BROKEN" : ""};
}

// The table of the schemes, or that of the naive encodings.
std::string FormatGroup(const v1::CheckPropertiesResponse& response,
                        bool naive) {
  std::vector<std::vector<std::string>> rows = {
      {naive ? "ENCODING" : "SCHEME", "PROPERTY", "VERDICT", "MEASURED",
       "ALLOWED", "PROMISED", ""}};
  for (const v1::SchemeProperties& scheme : response.results()) {
    if (scheme.naive() != naive) continue;
    if (rows.size() > 1) rows.push_back({""});
    bool first = true;
    for (const v1::PropertyResult& result : scheme.properties()) {
      rows.push_back(RowOf(first ? scheme.scheme_name() : "", result));
      first = false;
    }
  }
  return rows.size() == 1 ? "" : FormatRows(rows);
}

std::string FormatDetails(const v1::CheckPropertiesResponse& response) {
  std::string text;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      if (result.worked_case().empty()) continue;
      absl::StrAppend(&text, PrintableLine(scheme.scheme_name()), ", ",
                      PrintableLine(result.property()), ": ",
                      VerdictName(result.verdict()), "\n  ",
                      PrintableLine(result.worked_case()), "\n");
    }
  }
  return text;
}

std::string FormatBroken(const v1::CheckPropertiesResponse& response) {
  std::vector<std::string> broken;
  int count = 0;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      if (result.promise() == v1::PROMISE_ANSWER_UNSPECIFIED) continue;
      ++count;
      if (!IsBroken(result)) continue;
      broken.push_back(
          absl::StrCat(scheme.scheme_name(), " ", result.property()));
    }
  }
  if (count == 0) return "";
  if (broken.empty()) {
    return absl::StrCat("\nAll ", count, " are as promised.\n");
  }
  return absl::StrCat("\n", broken.size(), " of ", count, " PROMISES BROKEN: ",
                      PrintableLine(absl::StrJoin(broken, ", ")), "\n");
}

}  // namespace

int BrokenPromises(const v1::CheckPropertiesResponse& response) {
  int count = 0;
  for (const v1::SchemeProperties& scheme : response.results()) {
    for (const v1::PropertyResult& result : scheme.properties()) {
      count += static_cast<int>(IsBroken(result));
    }
  }
  return count;
}

std::string FormatProperties(const v1::CheckPropertiesResponse& response,
                             const PropertyTableOptions& options) {
  std::string text = FormatGroup(response, /*naive=*/false);
  const std::string naive = FormatGroup(response, /*naive=*/true);
  if (!naive.empty()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    "Naive encodings, for comparison:\n\n", naive);
  }
  if (options.details) {
    absl::StrAppend(&text, "\n", FormatDetails(response));
  }
  return text + FormatBroken(response);
}

}  // namespace locus::client
