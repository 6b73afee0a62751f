// The lab about extrapolation: patterns of an untrained layer, a trained race,
// and a recommendation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/extrapolation_text.h"
#include "client/cli/labs/lab_calls.h"
#include "client/plot/line_chart.h"
#include "client/report/charts.h"

namespace locus::client {
namespace {

constexpr int64_t kPatternDim = 32;
constexpr int64_t kPatternHeads = 2;
constexpr int64_t kPatternTokens = 64;
constexpr int64_t kLongestPattern = 256;
constexpr int64_t kRaceTokens = 32;
constexpr int64_t kRaceLengths[] = {32, 64, 128, 256};
constexpr char kLoss[] = "nll";
constexpr char kClampedTable[] = "learned { max_length: 64 policy: CLAMP }";

std::string Digits(double value) { return absl::StrFormat("%.3f", value); }

v1::EvaluateExtrapolationRequest PatternRequest(const LabOptions& options) {
  v1::EvaluateExtrapolationRequest request;
  for (const char* scheme : {"sinusoidal", kClampedTable, "rope"}) {
    *request.add_schemes() = SchemeOf(scheme);
  }
  request.mutable_pattern()->set_dim(kPatternDim);
  request.mutable_pattern()->set_head_count(kPatternHeads);
  request.set_train_length(kPatternTokens);
  for (const int64_t length : {64, 96, 128, 192, 256}) {
    request.add_eval_lengths(length);
  }
  request.set_seed(options.seed);
  return request;
}

v1::EvaluateExtrapolationRequest RaceRequest(const LabOptions& options) {
  v1::EvaluateExtrapolationRequest request;
  for (const char* scheme : {"sinusoidal", "learned", "rope", "alibi"}) {
    *request.add_schemes() = SchemeOf(scheme);
  }
  request.mutable_trained()->mutable_text();
  if (options.step_count.has_value()) {
    request.mutable_trained()->mutable_training()->set_step_count(
        *options.step_count);
  }
  request.set_train_length(kRaceTokens);
  for (const int64_t length : kRaceLengths) request.add_eval_lengths(length);
  request.set_seed(options.seed);
  request.set_seed_count(options.seed_count.value_or(3));
  return request;
}

// The codes of the positions 63 to 255 in a table of width kPatternDim.
absl::StatusOr<RealMatrix> LateCodes(Client& client,
                                     const std::string& scheme) {
  v1::Positions positions;
  positions.mutable_range()->set_start(kPatternTokens - 1);
  positions.mutable_range()->set_count(kLongestPattern - kPatternTokens + 1);
  CLIENT_ASSIGN_OR_RETURN(
      const v1::EncodeResponse response,
      client.Encode(CodesRequest(scheme, positions, kPatternDim)));
  return MatrixOf(response.additive().table());
}

double RowDistance(const RealMatrix& codes, int64_t a, int64_t b) {
  double squares = 0;
  for (int64_t c = 0; c < codes.columns; ++c) {
    squares += std::pow(codes.At(a, c) - codes.At(b, c), 2);
  }
  return std::sqrt(squares);
}

absl::Status AssertCodes(Client& client, LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix table,
                          LateCodes(client, kClampedTable));
  CLIENT_ASSIGN_OR_RETURN(const RealMatrix waves,
                          LateCodes(client, "sinusoidal"));
  double farthest = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (int64_t b = 1; b < table.rows; ++b) {
    farthest = std::max(farthest, RowDistance(table, 0, b));
    for (int64_t a = 0; a < b; ++a) {
      nearest = std::min(nearest, RowDistance(waves, a, b));
    }
  }
  report.Assert(farthest == 0, extrapolation_text::kClampClaim,
                TwoDigits(farthest));
  report.Assert(nearest > 1e-3, extrapolation_text::kSinusoidalClaim,
                Digits(nearest));
  report.results()["clamped_codes_max_distance"] = farthest;
  report.results()["sinusoidal_codes_min_distance"] = nearest;
  return absl::OkStatus();
}

struct ChartTexts {
  std::string metric;
  const char* figure;
  Text title;
  Text caption;
  Text y_label;
  int64_t length = 0;
};
// Adds the chart of a metric with texts in the language of the report.
void AddMetricFigure(const Manifest& manifest, const ChartTexts& texts,
                     LabReport& report) {
  for (NamedChart& named : ChartsOf(manifest)) {
    if (named.name != texts.metric) continue;
    plot::LineChart& chart = named.chart;
    chart.title = report.Format(texts.title, texts.length);
    chart.note = report.Format(texts.caption);
    chart.description = chart.note;
    chart.x_label = report.Format(extrapolation_text::kTokens);
    chart.y_label = report.Format(texts.y_label);
    report.AddFigure(texts.figure, plot::DrawLineChart(chart), texts.caption);
    return;
  }
}

absl::Status PatternPart(const LabOptions& options, Client& client,
                         LabReport& report) {
  CLIENT_ASSIGN_OR_RETURN(const Manifest manifest,
                          RunEvaluation(client, PatternRequest(options)));
  report.Heading(extrapolation_text::kPatternHeading);
  report.Say(extrapolation_text::kPatternSay, kPatternDim, kPatternHeads,
             options.seed);
  report.Show(absl::StrCat(report.Format(extrapolation_text::kEntropy), "\n",
                           EvaluationRows(manifest, "entropy")));
  report.Show(absl::StrCat(report.Format(extrapolation_text::kDistance), "\n",
                           EvaluationRows(manifest, "mean_distance")));
  CLIENT_RETURN_IF_ERROR(AssertCodes(client, report));
  AddMetricFigure(manifest,
                  {.metric = "entropy",
                   .figure = "patterns",
                   .title = extrapolation_text::kPatternFigureTitle,
                   .caption = extrapolation_text::kPatternFigure,
                   .y_label = extrapolation_text::kShare},
                  report);
  report.config()["pattern"] = {{"d_model", kPatternDim},
                                {"n_heads", kPatternHeads},
                                {"train_length", kPatternTokens},
                                {"learned_table_rows", kPatternTokens}};
  report.results()["pattern_entropy"] = RowsByScheme(manifest, "entropy");
  return absl::OkStatus();
}

double LossOf(const Manifest& manifest, const std::string& scheme,
              int64_t length) {
  const v1::EvaluationRow* row = FindRow(manifest, scheme, length, kLoss);
  return row == nullptr ? std::numeric_limits<double>::infinity() : row->mean();
}

// The schemes, from the lowest to the highest loss at a length.
std::vector<std::string> RankedSchemes(const Manifest& manifest,
                                       int64_t length) {
  std::vector<std::string> schemes = SchemesOf(manifest);
  std::stable_sort(schemes.begin(), schemes.end(),
                   [&](const std::string& a, const std::string& b) {
                     return LossOf(manifest, a, length) <
                            LossOf(manifest, b, length);
                   });
  return schemes;
}

void AssertRace(const Manifest& manifest, int64_t seed_count,
                LabReport& report) {
  const int64_t longest = LengthsOf(manifest).back();
  const std::string worst = RankedSchemes(manifest, kRaceTokens).back();
  const double worst_loss = LossOf(manifest, worst, kRaceTokens);
  report.Assert(worst_loss < std::log(256.0), extrapolation_text::kInRangeClaim,
                absl::StrCat(worst, ", ", Digits(worst_loss)));
  const double near = LossOf(manifest, "learned", kRaceTokens);
  const double far = LossOf(manifest, "learned", longest);
  report.Assert(far > near, extrapolation_text::kLearnedClaim, Digits(near),
                Digits(far), longest);
  const std::string& winner = manifest.summary.winner();
  const bool is_honest =
      winner.empty() ||
      (seed_count > 1 && winner == RankedSchemes(manifest, longest).front());
  report.Assert(
      is_honest, extrapolation_text::kVerdictClaim,
      winner.empty() ? report.Format(extrapolation_text::kNobody) : winner);
}

void Recommend(const Manifest& manifest, LabReport& report) {
  const int64_t longest = LengthsOf(manifest).back();
  const std::vector<std::string> ranked = RankedSchemes(manifest, longest);
  const bool has_winner = manifest.summary.winner() == ranked[0];
  const std::string text = report.Format(
      has_winner ? extrapolation_text::kRecommendWinner
                 : extrapolation_text::kRecommendNobody,
      ranked[0], longest, Digits(LossOf(manifest, ranked[0], longest)),
      Digits(LossOf(manifest, ranked[0], kRaceTokens)), ranked[1],
      Digits(LossOf(manifest, ranked[1], longest)));
  report.Heading(extrapolation_text::kRecommendHeading);
  // The text has its numbers already, and contains no placeholder.
  report.Say({"$0", "$0"}, text);
  report.Say(extrapolation_text::kLimits, longest);
  report.Interpret(extrapolation_text::kRead);
  report.Interpret({"$0", "$0"}, text);
  report.Interpret(extrapolation_text::kLimits, longest);
  report.results()["lowest_loss"] = ranked[0];
  report.results()["recommended"] = has_winner ? ranked[0] : "";
}

absl::Status RacePart(const LabOptions& options, Client& client,
                      LabReport& report) {
  const v1::EvaluateExtrapolationRequest request = RaceRequest(options);
  CLIENT_ASSIGN_OR_RETURN(const Manifest manifest,
                          RunEvaluation(client, request));
  report.Heading(extrapolation_text::kRaceHeading);
  report.Say(extrapolation_text::kRaceSay, kRaceTokens, request.seed_count(),
             options.seed);
  report.Show(EvaluationRows(manifest, kLoss));
  AssertRace(manifest, request.seed_count(), report);
  Recommend(manifest, report);
  AddMetricFigure(manifest,
                  {.metric = kLoss,
                   .figure = "race",
                   .title = extrapolation_text::kRaceFigureTitle,
                   .caption = extrapolation_text::kRaceFigure,
                   .y_label = extrapolation_text::kNats,
                   .length = kRaceTokens},
                  report);
  report.config()["race"] = {
      {"task", "text"},
      {"train_length", kRaceTokens},
      {"eval_lengths",
       std::vector<int64_t>(std::begin(kRaceLengths), std::end(kRaceLengths))},
      {"seed_count", request.seed_count()}};
  report.results()["race_nll"] = RowsByScheme(manifest, kLoss);
  return absl::OkStatus();
}

absl::Status RunExtrapolation(const LabOptions& options, Client& client,
                              LabReport& report) {
  CLIENT_RETURN_IF_ERROR(PatternPart(options, client, report));
  return RacePart(options, client, report);
}

}  // namespace

Lab ExtrapolationLab() {
  return {.name = "extrapolation",
          .title = extrapolation_text::kTitle,
          .summary = extrapolation_text::kSummary,
          .questions = extrapolation_text::kQuestions,
          .is_trained = true,
          .run = RunExtrapolation};
}

}  // namespace locus::client
