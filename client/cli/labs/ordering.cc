// The lab about the ordering task: trained at 4 tokens, tested at 4, 5, 6, 8.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/cli/labs/lab_calls.h"
#include "client/cli/labs/ordering_text.h"
#include "client/plot/line_chart.h"
#include "client/report/charts.h"

namespace locus::client {
namespace {

constexpr char kAccuracy[] = "balanced_accuracy";
constexpr double kChance = 0.5;
constexpr int64_t kTrainTokens = 4;
constexpr int64_t kOrderingLengths[] = {4, 5, 6, 8};
constexpr const char* kOrderingSchemes[] = {"sinusoidal", "learned", "rope",
                                            "alibi", "none"};

v1::EvaluateExtrapolationRequest OrderingRequest(const LabOptions& options) {
  v1::EvaluateExtrapolationRequest request;
  for (const char* scheme : kOrderingSchemes) {
    *request.add_schemes() = SchemeOf(scheme);
  }
  request.mutable_trained()->mutable_ordering();
  if (options.step_count.has_value()) {
    request.mutable_trained()->mutable_training()->set_step_count(
        *options.step_count);
  }
  request.set_train_length(kTrainTokens);
  for (const int64_t length : kOrderingLengths) {
    request.add_eval_lengths(length);
  }
  request.set_seed(options.seed);
  request.set_seed_count(options.seed_count.value_or(3));
  return request;
}

double AccuracyOf(const Manifest& manifest, const std::string& scheme,
                  int64_t length) {
  const v1::EvaluationRow* row = FindRow(manifest, scheme, length, kAccuracy);
  return row == nullptr ? 0 : row->mean();
}

// Mean accuracy of the schemes with positions.
double MeanWithPositions(const Manifest& manifest, int64_t length) {
  double sum = 0;
  int count = 0;
  for (const char* scheme : kOrderingSchemes) {
    if (std::string(scheme) == "none") continue;
    sum += AccuracyOf(manifest, scheme, length);
    ++count;
  }
  return sum / count;
}

// The schemes whose interval at a length lies above chance.
std::vector<std::string> BetterThanChance(const Manifest& manifest,
                                          int64_t length) {
  std::vector<std::string> better;
  for (const std::string& scheme : SchemesOf(manifest)) {
    const v1::EvaluationRow* row = FindRow(manifest, scheme, length, kAccuracy);
    if (row != nullptr && row->count() > 1 && row->ci_low() > kChance) {
      better.push_back(scheme);
    }
  }
  return better;
}

void AssertOrdering(const Manifest& manifest, LabReport& report) {
  const v1::EvaluationGate* none = FindGate(manifest, "none");
  report.Assert(
      none != nullptr && !none->passed(), ordering_text::kNoneClaim,
      absl::StrFormat("%.3f", AccuracyOf(manifest, "none", kTrainTokens)),
      kTrainTokens);
  std::vector<std::string> accuracies;
  bool all_learned = true;
  for (const char* scheme : kOrderingSchemes) {
    if (std::string(scheme) == "none") continue;
    const v1::EvaluationGate* gate = FindGate(manifest, scheme);
    all_learned = all_learned && gate != nullptr && gate->passed();
    accuracies.push_back(absl::StrFormat(
        "%s %.3f", scheme, AccuracyOf(manifest, scheme, kTrainTokens)));
  }
  report.Assert(all_learned, ordering_text::kLearnedClaim,
                absl::StrJoin(accuracies, ", "));
  const std::string& winner = manifest.summary.winner();
  const std::vector<std::string> better =
      BetterThanChance(manifest, LengthsOf(manifest).back());
  const bool is_honest =
      winner.empty() ||
      std::find(better.begin(), better.end(), winner) != better.end();
  report.Assert(
      is_honest, ordering_text::kVerdictClaim,
      winner.empty() ? report.Format(ordering_text::kNobody) : winner);
}

void SayVerdict(const Manifest& manifest, int64_t seed_count,
                LabReport& report) {
  report.Heading(ordering_text::kVerdictHeading);
  if (seed_count == 1) {
    report.Say(ordering_text::kOneSeed);
    return;
  }
  for (const int64_t length : LengthsOf(manifest)) {
    const std::vector<std::string> better = BetterThanChance(manifest, length);
    if (better.empty()) {
      report.Say(ordering_text::kNoneBeatsChance, length);
    } else {
      report.Say(ordering_text::kBeatsChance, length,
                 absl::StrJoin(better, ", "));
    }
  }
  const int64_t longest = LengthsOf(manifest).back();
  if (manifest.summary.winner().empty()) {
    report.Say(ordering_text::kNoWinner, longest);
  } else {
    report.Say(ordering_text::kWinner, longest, manifest.summary.winner());
  }
}

// The chart of one metric with texts in the language of the report.
void AddAccuracyFigure(const Manifest& manifest, LabReport& report) {
  for (NamedChart& named : ChartsOf(manifest)) {
    if (named.name.find(kAccuracy) == std::string::npos) continue;
    plot::LineChart& chart = named.chart;
    chart.title = report.Format(ordering_text::kFigureTitle, kTrainTokens);
    chart.note = report.Format(ordering_text::kFigure);
    chart.description = chart.note;
    chart.x_label = report.Format(ordering_text::kFigureX);
    chart.y_label = report.Format(ordering_text::kFigureY);
    report.AddFigure("accuracy", plot::DrawLineChart(chart),
                     ordering_text::kFigure);
    return;
  }
}

void InterpretOrdering(const Manifest& manifest, LabReport& report) {
  const auto digits = [](double value) {
    return absl::StrFormat("%.2f", value);
  };
  const int64_t longest = LengthsOf(manifest).back();
  report.Interpret(ordering_text::kRead,
                   digits(MeanWithPositions(manifest, kTrainTokens)),
                   digits(AccuracyOf(manifest, "none", kTrainTokens)),
                   digits(MeanWithPositions(manifest, kTrainTokens + 1)),
                   longest, digits(MeanWithPositions(manifest, longest)));
  report.Interpret(ordering_text::kReadLimits);
}

absl::Status RunOrdering(const LabOptions& options, Client& client,
                         LabReport& report) {
  const v1::EvaluateExtrapolationRequest request = OrderingRequest(options);
  CLIENT_ASSIGN_OR_RETURN(const Manifest manifest,
                          RunEvaluation(client, request));
  report.Heading(ordering_text::kHeading);
  report.Say(ordering_text::kSay, request.seed_count(), options.seed);
  report.Show(absl::StrCat(report.Format(ordering_text::kLengths, kTrainTokens),
                           "\n", EvaluationRows(manifest, kAccuracy)));
  AssertOrdering(manifest, report);
  SayVerdict(manifest, request.seed_count(), report);
  AddAccuracyFigure(manifest, report);
  InterpretOrdering(manifest, report);
  report.config()["train_length"] = kTrainTokens;
  report.config()["eval_lengths"] = std::vector<int64_t>(
      std::begin(kOrderingLengths), std::end(kOrderingLengths));
  report.config()["schemes"] = std::vector<std::string>(
      std::begin(kOrderingSchemes), std::end(kOrderingSchemes));
  report.config()["seed_count"] = request.seed_count();
  report.results()["winner"] = manifest.summary.winner();
  report.results()["balanced_accuracy"] = RowsByScheme(manifest, kAccuracy);
  return absl::OkStatus();
}

}  // namespace

Lab OrderingLab() {
  return {.name = "ordering",
          .title = ordering_text::kTitle,
          .summary = ordering_text::kSummary,
          .questions = ordering_text::kQuestions,
          .is_trained = true,
          .run = RunOrdering};
}

}  // namespace locus::client
