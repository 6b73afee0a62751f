// Results of an evaluation: progress and cells while it runs, a summary at the
// end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

// Result of one scheme, with one seed, at one length.
struct EvaluationCell {
  std::string scheme_name;
  uint64_t seed = 0;
  int64_t eval_length = 0;
  std::map<std::string, double> metrics;
  // [heads, rows, columns], if maps were requested.
  std::optional<Tensor> attention_map;
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
};

struct EvaluationSummary {
  std::vector<EvaluationRow> rows;
  std::vector<EvaluationDifference> differences;
  std::vector<EvaluationGate> gates;
  std::string winner;
  std::string reason;
  bool partial = false;

  // Marks the summary of an evaluation that ended before all cells were
  // finished. Such an evaluation has no winner, because the schemes may have
  // been tested with different seeds and lengths.
  void MarkPartial() {
    partial = true;
    winner.clear();
    reason = "No winner: the evaluation is partial.";
  }
};

}  // namespace locus
