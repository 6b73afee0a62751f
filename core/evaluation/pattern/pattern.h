// Pattern mode: the attention of one seeded layer, nothing trained.
//
// Queries and keys are projections of tokens drawn from N(0, I), each from a
// stream of its own, so that token n is the same at every length. Since random
// content hides what a rotation does (its mean effect is zero), everything is
// measured once more with shared content, where all queries and keys have one
// mean: tokens are (c + token n) / sqrt(2) with one c for all, and keys are
// projected as queries are.
//
// Metrics of a cell, L being the training length and T the length. Distances
// are |i - j|; averages run over queries, then over heads:
//
//   entropy         of the attention of a query, over ln(visible keys), of
//                   queries that see more than one key
//   window_mass     attention at distances below L / 2
//   mean_distance   that attention goes to, in tokens
//   score_drift     |E[score | distance >= L] - E[score | distance < L]| over
//                   visible pairs, by head, in nats: as much as scores of far
//                   keys differ from those in range. 0 if no distance reaches L
//   ..._shared      the four of them with shared content
//   position_effect half the sum of what weights differ by from those without
//                   positions, with shared content, over up to 256 queries: 0
//                   if positions change nothing, at most 1
//
// and where they apply:
//
//   similarity_decay    of a code: 1 - the mean cosine of PE(p), PE(p + T / 2)
//   novelty             of a code: min over p < L of ||PE(T - 1) - PE(p)||,
//   over
//                       ||PE(1) - PE(0)||
//   slow_pair_share     of a rotation: pairs whose period exceeds L
//   bias_outside_share  of a bias: visible pairs at distances of L or more
//
// A metric that is no finite number is left out of its cell.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/evaluation/evaluation.h"

namespace locus {

// What one cell needs, in bytes and in multiplications and additions. Memory
// grows linearly with the length.
int64_t PatternScratchBytes(const PatternSettings& settings,
                            int64_t eval_length);
double PatternFlops(const PatternSettings& settings, int64_t eval_length);

struct PatternCall {
  EvaluatedScheme scheme;
  PatternSettings settings;  // with defaults filled
  int64_t train_length = 0;
  int64_t eval_length = 0;
  uint64_t seed = 0;
};

// INVALID_ARGUMENT if the scheme cannot stand in such a layer.
absl::Status CheckPattern(const PatternCall& call);

// The cell of one scheme at one length, the same to the bit for any number of
// threads. The map is that of the tokens as drawn, each value the mean over a
// block. Fails only as CheckPattern or `stop` say; `stop` is asked every few
// rows.
absl::StatusOr<EvaluationCell> MeasurePattern(const PatternCall& call,
                                              ThreadPool& pool,
                                              const StopCheck& stop);

}  // namespace locus
