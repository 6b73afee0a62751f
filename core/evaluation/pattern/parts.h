// Division of the work of pattern mode into parts.
//
// The number of parts does not depend on the number of threads, and partial
// sums are added in the order of the parts, so that results are bit-identical
// for any number of threads.
#pragma once

#include <cstdint>

#include "core/parallel/cancellation.h"

namespace locus {

inline constexpr int64_t kPatternParts = 32;
// Maximum number of queries or positions in metrics that are sampled.
inline constexpr int64_t kMaxSampled = 256;

// Index of the first of `count` items that belongs to part n of `parts`.
inline int64_t PartStart(int64_t n, int64_t count, int64_t parts) {
  return n * count / parts;
}

// Calls visit(n) for each of `count` items that belongs to a part, until
// cancelled.
template <typename Visit>
void ForEachInPart(int64_t part, int64_t count, CancellationState& cancellation,
                   const Visit& visit) {
  constexpr int64_t kPollInterval = 8;
  for (int64_t n = PartStart(part, count, kPatternParts);
       n < PartStart(part + 1, count, kPatternParts); ++n) {
    if (n % kPollInterval == 0 && cancellation.ShouldStop()) return;
    visit(n);
  }
}

}  // namespace locus
