// Summaries of the cells of an evaluation: means over seeds, paired
// differences, gates, effective lengths, spreads, and the verdict.
//
// Only finished cells count. Rows and differences are ordered by scheme as
// requested, then by length, then by the name of the metric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// The schemes, lengths and seeds of the evaluation.
struct SummarySpec {
  std::vector<std::string> scheme_names;  // the first is the baseline
  std::vector<int64_t> eval_lengths;      // ascending, includes train_length
  int64_t train_length = 0;
  int64_t seed_count = 0;
  int64_t step_count = 0;  // training steps; 0 in pattern mode
  // Whether all schemes of a seed were tested with the same trained model.
  bool shares_model = false;
  // Sequences about which the models were asked.
  std::vector<std::vector<int64_t>> questions = {};
};

// Summarizes trained models. The caller marks partial summaries.
//
// A scheme passes its gate if at least half of its finished seeds learned the
// task at train_length. A scheme without a finished seed there has no gate.
//
// The schemes that passed are compared by the gate's metric at the largest
// length at which all of them have a common finished seed, over the common
// seeds. The best of them wins only if
//
//   - its 95 % interval is better than chance, and
//   - the 95 % interval of its paired difference to the second excludes zero.
//
// Both need at least two seeds. Without a winner, the verdict states the reason
// and suggests the next step.
EvaluationSummary SummarizeTrained(const SummarySpec& spec,
                                   const LearnedCriterion& criterion,
                                   absl::Span<const EvaluationCell> cells);

// Summarizes patterns: rows, paired differences to the baseline, and a
// description. Nothing is trained, so there are neither gates nor a winner. The
// caller marks partial summaries.
//
// The description names the scheme with the steadiest attention map and the one
// with the largest drift of scores. The change of a scheme is the mean of three
// numbers from 0 to 1: the changes of entropy_shared and window_mass_shared,
// and the relative change of mean_distance_shared, from train_length to the
// largest length at which all schemes have a common seed. The means are over
// the common seeds only; rows of a run that was cut short may rank differently.
//
// Schemes whose position_effect at train_length is below 0.05 are not compared,
// since a pattern that hardly depends on positions is stable for any scheme.
// Schemes that lack one of the metrics are named.
EvaluationSummary SummarizePatterns(const SummarySpec& spec,
                                    absl::Span<const EvaluationCell> cells);

}  // namespace locus
