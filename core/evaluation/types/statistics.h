// Student's t intervals of means of small samples.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

namespace locus {

// 97.5 % quantile of Student's t distribution: half the width of a 95 %
// interval, in standard errors. `degrees` is the number of degrees of freedom,
// at least 1. Accurate to 1e-9.
double StudentQuantile(int64_t degrees);

// A mean and its 95 % interval. The interval of a single value is the value;
// all fields are zero if there are no values.
struct MeanInterval {
  double mean = 0;
  double low = 0;
  double high = 0;
  int64_t count = 0;
};
MeanInterval IntervalOf(absl::Span<const double> values);

}  // namespace locus
