// How the work of a pattern is divided.
//
// Into so many parts of about equal size, whatever the number of threads; what
// they sum is added up in their order, so that it is the same to the bit.
#pragma once

#include <cstdint>

#include "core/parallel/stopper.h"

namespace locus {

inline constexpr int64_t kPatternParts = 32;
// Where a sample does, it has at most so many queries or positions.
inline constexpr int64_t kMaxSampled = 256;

// Where part n begins when `count` things are divided into `parts`.
inline int64_t PartStart(int64_t n, int64_t count, int64_t parts) {
  return n * count / parts;
}

// Calls `visit` with each of `count` things that are in a part, until stopped.
template <typename Visit>
void ForEachInPart(int64_t part, int64_t count, Stopper& stopper,
                   const Visit& visit) {
  constexpr int64_t kBetweenStopChecks = 8;
  for (int64_t n = PartStart(part, count, kPatternParts);
       n < PartStart(part + 1, count, kPatternParts); ++n) {
    if (n % kBetweenStopChecks == 0 && stopper.ShouldStop()) return;
    visit(n);
  }
}

}  // namespace locus
