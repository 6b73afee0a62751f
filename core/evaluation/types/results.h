// Results of an evaluation: progress and cells while it runs, a summary at the
// end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/tensor.h"

namespace locus {

// Progress after one training step.
struct EvaluationProgress {
  absl::string_view scheme_name;
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t step_count = 0;
  double loss = 0;
  // Completed share of the work of the whole evaluation, from 0 to 1.
  double done_share = 0;
};

// Training losses of one run.
struct TrainingCurve {
  std::string scheme_name;
  uint64_t seed = 0;
  // Numbers of completed steps, in increasing order.
  std::vector<int64_t> steps;
  // Mean loss of the steps since the previous entry of `steps`, in nats per
  // target.
  std::vector<double> losses;
};

// Result of one scheme, with one seed, at one length.
struct EvaluationCell {
  std::string scheme_name;
  uint64_t seed = 0;
  int64_t eval_length = 0;
  std::map<std::string, double> metrics;
  // [heads, rows, columns], if maps were requested.
  std::optional<Tensor> attention_map;
  // Set in the first cell of a run that trained a model.
  std::optional<TrainingCurve> training_curve;
  // Probabilities of `sorted` for TrainedSettings::questions, in the first cell
  // of a run.
  std::vector<double> sorted_probabilities;
};

// Receives the progress of every training step, and every finished cell, while
// an evaluation runs. Calls do not overlap.
class EvaluationSink {
 public:
  virtual ~EvaluationSink() = default;
  virtual void OnProgress(const EvaluationProgress& progress) = 0;
  virtual void OnCell(EvaluationCell cell) = 0;
};

// The structs below correspond to the messages of the same names in
// proto/locus/v1/evaluation.proto.

// Mean of one metric over seeds, with Student's 95 % interval.
struct EvaluationRow {
  std::string scheme_name;
  int64_t eval_length = 0;
  std::string metric;
  double mean = 0;
  double ci_low = 0;
  double ci_high = 0;
  int64_t count = 0;
};

// Mean paired difference to the baseline, with Student's 95 % interval.
struct EvaluationDifference {
  std::string scheme_name;
  std::string baseline_name;
  int64_t eval_length = 0;
  std::string metric;
  double mean = 0;
  double ci_low = 0;
  double ci_high = 0;
  int64_t count = 0;
};

// Whether a scheme learned the task at the training length.
struct EvaluationGate {
  std::string scheme_name;
  std::string metric;
  double threshold = 0;
  double learned_share = 0;
  bool passed = false;
  double chance = 0;
};

enum class VerdictKind {
  kWinner,
  kNoClearWinner,  // the lead over the second scheme or chance is not certain
  kAtChance,       // nothing beats chance at the longest length
  kOneSeed,        // no interval
  kNotLearned,     // no scheme learned the task in range
  kNoComparison,   // only one scheme learned the task or was evaluated
  kPattern,        // a description; nothing was trained
  kPartial,        // the evaluation ended early
};

// Conclusion of an evaluation.
struct EvaluationVerdict {
  VerdictKind kind = VerdictKind::kPartial;
  std::string winner;     // empty unless kind is kWinner
  std::string text;       // the conclusion in words
  std::string next_step;  // suggestion in words; may be empty

  // The text, followed by the next step.
  std::string Reason() const {
    return next_step.empty() ? text : absl::StrCat(text, " ", next_step);
  }
};

// Longest tested length up to which a metric stays within a threshold of its
// value at the training length. 0 if the scheme did not learn the task.
struct EffectiveLength {
  std::string scheme_name;
  std::string metric;
  int64_t length = 0;
  int64_t ci_low = 0;
  int64_t ci_high = 0;
  double threshold = 0;
};

// Distribution of a metric over the seeds.
struct EvaluationSpread {
  std::string scheme_name;
  int64_t eval_length = 0;
  std::string metric;
  double min = 0;
  double q25 = 0;
  double median = 0;
  double q75 = 0;
  double max = 0;
  // Share of seeds with at least 0.95, if the metric is a share.
  std::optional<double> share_above_95;
  uint64_t worst_seed = 0;
};

// Probability that the models of a scheme call a sequence sorted, over seeds.
struct OrderingAnswer {
  std::string scheme_name;
  std::vector<int64_t> values;
  double probability = 0;
  double ci_low = 0;
  double ci_high = 0;
  int64_t count = 0;
};

struct EvaluationSummary {
  std::vector<EvaluationRow> rows;
  std::vector<EvaluationDifference> differences;
  std::vector<EvaluationGate> gates;
  EvaluationVerdict verdict;
  std::vector<EffectiveLength> effective_lengths;
  std::vector<EvaluationSpread> spreads;
  std::vector<TrainingCurve> training_curves;
  std::vector<OrderingAnswer> ordering_answers;
  bool partial = false;

  // Marks the summary of an evaluation that ended before all cells were
  // finished. Such an evaluation has no winner, because the schemes may have
  // been tested with different seeds and lengths, and no effective lengths,
  // because lengths may be missing.
  void MarkPartial() {
    partial = true;
    verdict = {.kind = VerdictKind::kPartial,
               .text = "No winner: the evaluation is partial."};
    effective_lengths.clear();
  }
};

}  // namespace locus
