// Summaries of the cells of an evaluation: means over seeds, paired
// differences, gates, and the winner.
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
};

// Summarizes trained models: rows, paired differences to the baseline, gates,
// and the winner. The caller marks partial summaries.
//
// A scheme passes its gate if at least half of its finished seeds learned the
// task at train_length. A scheme without a finished seed there has no gate.
//
// The winner has the best mean of the gate's metric at the largest length at
// which all schemes that passed have a common finished seed. The means are over
// the common seeds only; rows of a run that was cut short are means over
// different seeds, and may rank differently. There is no winner if no length
// has a common seed. Ties go to the scheme that was requested first, and the
// reason mentions them. The reason also names schemes whose mean at that length
// is worse than at train_length, over the same seeds, by more than a fifth.
EvaluationSummary SummarizeTrained(const SummarySpec& spec,
                                   const LearnedCriterion& criterion,
                                   absl::Span<const EvaluationCell> cells);

// Summarizes patterns: rows, paired differences to the baseline, and the scheme
// whose pattern changes least with the length. There are no gates, since
// nothing is trained. The caller marks partial summaries.
//
// The change of a scheme is the mean of three numbers from 0 to 1: the changes
// of entropy_shared and window_mass_shared, and the relative change of
// mean_distance_shared, from train_length to the largest length at which all
// schemes have a common seed. The means are over the common seeds only; rows of
// a run that was cut short may rank differently. There is no winner if no
// length has a common seed.
//
// Schemes whose position_effect at train_length is below 0.05 are not compared,
// since a pattern that hardly depends on positions is stable for any scheme.
// Ties go to the scheme that was requested first. The reason mentions ties, and
// names schemes that lack one of the metrics.
EvaluationSummary SummarizePatterns(const SummarySpec& spec,
                                    absl::Span<const EvaluationCell> cells);

}  // namespace locus
