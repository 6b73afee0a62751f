// The lab about ALiBi: slopes by two rules, geometric series, bias patterns.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/alibi_text.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/render/encoding_charts.h"
#include "client/cli/render/table.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

constexpr int64_t kEightHeads = 8;
constexpr int64_t kOddHeads = 12;
constexpr int64_t kBiasTokens = 8;
constexpr int64_t kFigureTokens = 64;
constexpr char kPaperRule[] = "alibi {}";
constexpr char kCourseRule[] = "alibi { rule: COURSE }";

absl::StatusOr<v1::EncodeResponse> BiasOf(Client& client,
                                          const std::string& scheme,
                                          int64_t heads, int64_t tokens) {
  v1::EncodeRequest request =
      CodesRequest(scheme, FirstPositions(tokens), /*dim=*/0);
  request.set_head_count(heads);
  return client.Encode(request);
}

absl::StatusOr<std::vector<double>> SlopesOf(Client& client,
                                             const std::string& scheme,
                                             int64_t heads) {
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          BiasOf(client, scheme, heads, 1));
  const auto& slopes = response.bias().slopes();
  if (slopes.size() != heads) {
    return absl::InternalError(absl::StrCat("the server sent ", slopes.size(),
                                            " slopes for ", heads, " heads"));
  }
  return std::vector<double>(slopes.begin(), slopes.end());
}

double LargestDifference(const std::vector<double>& a,
                         const std::vector<double>& b) {
  double largest = 0;
  for (size_t n = 0; n < std::min(a.size(), b.size()); ++n) {
    largest = std::max(largest, std::abs(a[n] - b[n]));
  }
  return largest;
}

struct Ratios {
  double low = 0;
  double high = 0;
};
Ratios RatiosOf(const std::vector<double>& slopes) {
  Ratios ratios{slopes[1] / slopes[0], slopes[1] / slopes[0]};
  for (size_t n = 1; n < slopes.size(); ++n) {
    const double ratio = slopes[n] / slopes[n - 1];
    ratios.low = std::min(ratios.low, ratio);
    ratios.high = std::max(ratios.high, ratio);
  }
  return ratios;
}

// The distance over which e^bias halves, ln 2 / m.
std::string HalvingDistance(double slope) {
  return absl::StrFormat("%.3g", std::numbers::ln2 / slope);
}

absl::StatusOr<std::vector<double>> SlopesPart(Client& client,
                                               LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> paper,
                          SlopesOf(client, kPaperRule, kEightHeads));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> course,
                          SlopesOf(client, kCourseRule, kEightHeads));
  report.Heading(alibi_text::kSlopesHeading);
  report.Say(alibi_text::kSlopesSay);
  std::vector<std::vector<std::string>> rows = {
      absl::StrSplit(report.Format(alibi_text::kColumns), '|')};
  for (int64_t h = 0; h < kEightHeads; ++h) {
    rows.push_back(
        {absl::StrCat(h + 1), absl::StrCat(paper[h]), absl::StrCat(course[h]),
         report.Format(alibi_text::kDistance, HalvingDistance(paper[h]))});
  }
  report.Show(FormatRows(rows));
  report.Assert(LargestDifference(paper, course) < 1e-12,
                alibi_text::kEqualClaim,
                TwoDigits(LargestDifference(paper, course)));
  std::vector<int64_t> equal;
  for (int64_t heads = 1; heads <= 16; ++heads) {
    CLIENT_ASSIGN_OR_RETURN(const std::vector<double> a,
                            SlopesOf(client, kPaperRule, heads));
    CLIENT_ASSIGN_OR_RETURN(const std::vector<double> b,
                            SlopesOf(client, kCourseRule, heads));
    if (LargestDifference(a, b) < 1e-12) equal.push_back(heads);
  }
  report.Assert(equal == std::vector<int64_t>{kEightHeads},
                alibi_text::kOnlyEightClaim, absl::StrJoin(equal, ", "));
  const Ratios ratios = RatiosOf(paper);
  report.Assert(ratios.high - ratios.low < 1e-12, alibi_text::kGeometricClaim,
                ratios.low, TwoDigits(ratios.high - ratios.low));
  report.config()["n_heads"] = kEightHeads;
  report.results()["slopes_paper"] = paper;
  report.results()["slopes_course"] = course;
  report.results()["head_counts_where_rules_agree"] = equal;
  return paper;
}

absl::Status OddPart(Client& client, const std::vector<double>& eight,
                     LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> slopes,
                          SlopesOf(client, kPaperRule, kOddHeads));
  report.Heading(alibi_text::kOddHeading);
  report.Say(alibi_text::kOddSay);
  std::vector<std::string> numbers;
  for (const double slope : slopes) {
    numbers.push_back(absl::StrFormat("%.4g", slope));
  }
  report.Show(WrapText(absl::StrJoin(numbers, "  "), 79));
  const Ratios ratios = RatiosOf(slopes);
  report.Assert(ratios.high - ratios.low > 1e-3, alibi_text::kOddClaim,
                absl::StrFormat("%.3g", ratios.low),
                absl::StrFormat("%.3g", ratios.high));
  report.Assert(LargestDifference(eight, slopes) < 1e-12,
                alibi_text::kFirstEightClaim,
                TwoDigits(LargestDifference(eight, slopes)));
  report.results()["slopes_12_heads"] = slopes;
  return absl::OkStatus();
}

absl::Status BiasPart(Client& client, const std::vector<double>& slopes,
                      LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          BiasOf(client, kPaperRule, kEightHeads, kBiasTokens));
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> bias,
                          ToDoubles(response.bias().bias()));
  constexpr int64_t kPerHead = kBiasTokens * kBiasTokens;
  if (static_cast<int64_t>(bias.size()) != kEightHeads * kPerHead) {
    return absl::InternalError("the server sent a bias of another shape");
  }
  report.Heading(alibi_text::kBiasHeading);
  report.Say(alibi_text::kBiasSay, kBiasTokens);
  for (const int64_t head : {int64_t{0}, kEightHeads - 1}) {
    const RealMatrix matrix{.rows = kBiasTokens,
                            .columns = kBiasTokens,
                            .values = {bias.begin() + head * kPerHead,
                                       bias.begin() + (head + 1) * kPerHead}};
    report.Show(FormatMatrix(
        {.title = report.Format(alibi_text::kHead, head + 1, slopes[head]),
         .decimals = head == 0 ? 1 : 4},
        matrix));
  }
  double largest = 0;
  for (int64_t n = 0; n < kEightHeads * kPerHead; ++n) {
    const int64_t query = n % kPerHead / kBiasTokens;
    const int64_t key = n % kBiasTokens;
    if (key > query) continue;
    largest = std::max(
        largest, std::abs(bias[n] + slopes[n / kPerHead] *
                                        static_cast<double>(query - key)));
  }
  report.Assert(largest < 1e-9, alibi_text::kBiasClaim, TwoDigits(largest));
  report.config()["T"] = kBiasTokens;
  report.results()["bias_max_error"] = largest;
  return absl::OkStatus();
}

absl::Status AddBiasFigure(Client& client, int64_t heads, const char* name,
                           const Text& caption, LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const v1::EncodeResponse response,
                          BiasOf(client, kPaperRule, heads, kFigureTokens));
  CLIENT_ASSIGN_OR_RETURN(
      plot::Scene scene, BiasChart({.scheme_name = "alibi",
                                    .positions = FirstPositions(kFigureTokens)},
                                   response));
  report.AddFigure(name, std::move(scene), caption);
  return absl::OkStatus();
}

absl::Status RunAlibi(const LabOptions&, Client& client, LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const std::vector<double> slopes,
                          SlopesPart(client, report));
  CLIENT_RETURN_IF_ERROR(OddPart(client, slopes, report));
  CLIENT_RETURN_IF_ERROR(BiasPart(client, slopes, report));
  report.Interpret(alibi_text::kRead, HalvingDistance(slopes.front()),
                   HalvingDistance(slopes.back()));
  CLIENT_RETURN_IF_ERROR(AddBiasFigure(client, kEightHeads, "bias_8_heads",
                                       alibi_text::kFigure, report));
  return AddBiasFigure(client, kOddHeads, "bias_12_heads",
                       alibi_text::kFigure12, report);
}

}  // namespace

Lab AlibiLab() {
  return {.name = "alibi",
          .title = alibi_text::kTitle,
          .summary = alibi_text::kSummary,
          .questions = alibi_text::kQuestions,
          .run = RunAlibi};
}

}  // namespace locus::client
