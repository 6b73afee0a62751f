// Pattern mode: attention statistics of one seeded, untrained layer.
//
// Queries and keys are projections of tokens drawn from N(0, I). Each token has
// a random stream of its own, so that token n is the same at every length.
// Random content hides the effect of a rotation, which is zero on average.
// Therefore everything is measured a second time with shared content, where all
// queries and keys have a common mean: tokens are (c + token n) / sqrt(2) with
// one c for all, and keys are projected with the matrix of the queries.
//
// Metrics of a cell, where L is the training length, T the length, and |i - j|
// the distance of a query i and a key j. Averages are taken over queries, then
// over heads:
//
//   entropy         entropy of the attention of a query, divided by
//                   ln(visible keys), over queries with more than one visible
//                   key
//   window_mass     share of the attention at distances below L / 2
//   mean_distance   mean distance of the attention, in tokens
//   score_drift     |E[score | distance >= L] - E[score | distance < L]| over
//                   visible pairs, by head, in nats; 0 if no distance reaches L
//   ..._shared      the four metrics above, with shared content
//   position_effect total variation distance between the weights with and
//                   without positions, with shared content, over at most 256
//                   queries: 0 if positions have no effect, at most 1
//
// Metrics that apply to some schemes only:
//
//   similarity_decay    codes: 1 - mean cosine of PE(p) and PE(p + T / 2)
//   novelty             codes: min over p < L of ||PE(T - 1) - PE(p)||, divided
//                       by ||PE(1) - PE(0)||
//   slow_pair_share     rotations: share of pairs whose period exceeds L
//   bias_outside_share  biases: share of visible pairs at distances >= L
//
// Metrics that are not finite are left out of the cell.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/evaluation/types/results.h"
#include "core/evaluation/types/settings.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// Memory of one cell in bytes, which is linear in the length.
int64_t PatternScratchBytes(const PatternSettings& settings,
                            int64_t eval_length);
// Work of one cell, in multiplications and additions.
double PatternFlops(const PatternSettings& settings, int64_t eval_length);

// Input of one cell.
struct PatternCase {
  EvaluatedScheme scheme;
  PatternSettings settings;  // with defaults filled
  int64_t train_length = 0;
  int64_t eval_length = 0;
  uint64_t seed = 0;
};

// Returns INVALID_ARGUMENT if the scheme does not fit the layer.
absl::Status CheckPattern(const PatternCase& pattern_case);

// Measures one cell. The result is bit-identical for any number of threads. The
// attention map is that of the tokens as drawn, averaged over blocks. Returns
// the error of CheckPattern() or the status of `stop`, which is polled every
// few rows.
absl::StatusOr<EvaluationCell> MeasurePattern(const PatternCase& pattern_case,
                                              ThreadPool& pool,
                                              const CancellationCheck& stop);

}  // namespace locus
