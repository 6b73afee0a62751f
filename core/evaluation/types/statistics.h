// Means with intervals, of few numbers.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace locus {

// The t that Student's distribution of so many degrees of freedom, at least 1,
// exceeds with a probability of 2.5 %: half the width of a 95 % interval, in
// standard errors. Right to 1e-9.
double StudentQuantile(int64_t degrees);

// A mean with Student's 95 % interval; the interval of one number is the
// number. Of none, all zero.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  int64_t count = 0;
};
MeanInterval IntervalOf(absl::Span<const double> values);

}  // namespace locus
