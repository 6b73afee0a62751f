// Sequences of many tiles for the tests of the tiled kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/core/attention/reference_comparison.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

// Queries and keys of LongSizes().
inline constexpr int64_t kLong = 1200;

// A problem of four heads, long enough for tiles to be skipped.
inline Sizes LongSizes() {
  return {.query_heads = 4,
          .key_heads = 4,
          .queries = kLong,
          .keys = kLong,
          .dim = 16,
          .value_dim = 16};
}

inline AttentionOptions WithLogSumExp(bool causal) {
  AttentionOptions options;
  options.causal = causal;
  options.return_log_sum_exp = true;
  return options;
}

// The default positions as a list, for which the kernel skips no tiles.
inline AttentionOptions WithIds(AttentionOptions options) {
  std::vector<int64_t> ids(kLong);
  for (int64_t i = 0; i < kLong; ++i) ids[i] = i;
  options.query_positions = *Positions::Ids(ids);
  options.key_positions = *Positions::Ids(ids);
  return options;
}

// Difference of the job's output from that of the reference.
inline double ErrorOf(const AttentionJob& job,
                      const AttentionOutputs& reference) {
  ThreadPool pool(2);
  return Difference(Values(job.Run(pool, nullptr)->output),
                    Values(reference.output));
}

}  // namespace locus::testing
