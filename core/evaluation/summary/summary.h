// What the cells of an evaluation say together.
//
// Only finished cells count. Rows and differences come scheme by scheme as
// asked, lengths ascending, metrics in alphabetical order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/evaluation/evaluation.h"
#include "core/training/task.h"

namespace locus {

// What was asked.
struct SummaryQuestion {
  std::vector<std::string> scheme_names;  // the first is the baseline
  std::vector<int64_t> eval_lengths;      // ascending, with train_length
  int64_t train_length = 0;
  int64_t seed_count = 0;
};

// Of trained models: rows, differences to the baseline, gates, and the winner.
//
// A scheme passes its gate if at least half of its finished seeds learned the
// task at train_length; one without such a seed has no gate. The winner has the
// best mean of the gate's metric at the largest length at which the schemes
// that passed share a finished seed, over the seeds that all of them finished
// there: rows may rank otherwise where a run was cut short, but they compare
// different seeds. If they share none at any length, there is no winner. Equal
// means go to the one asked for first, and the reason calls them equal. A
// scheme is said to have broken if its mean there is worse than in range, over
// the same seeds, by more than a fifth. `partial` is the caller's to set.
EvaluationSummary SummarizeTrained(const SummaryQuestion& question,
                                   const LearnedWhen& learned_when,
                                   absl::Span<const EvaluationCell> cells);

// Of patterns: rows and differences, and the scheme whose pattern changes least
// with length. No gates: nothing was learned.
//
// The change of a scheme is the mean of three numbers from 0 to 1: by how much
// entropy_shared and window_mass_shared change from train_length to the largest
// length for which all schemes share a seed, and by which share
// mean_distance_shared does. It is taken over the seeds that they share there:
// where a run was cut short, rows are means over what each scheme finished, and
// may rank otherwise. If they share none, there is no winner.
// Schemes whose position_effect at train_length is below 0.05 are not compared:
// where positions hardly matter, steadiness says nothing of them. Equal changes
// go to the one asked for first, and the reason calls them equal; it also names
// schemes that lack a number.
EvaluationSummary SummarizePatterns(const SummaryQuestion& question,
                                    absl::Span<const EvaluationCell> cells);

}  // namespace locus
