// Terms that are added to individual scores: a mask, and a bias that is not
// applied by offset.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/attention/problem.h"
#include "core/attention/tiled/tile.h"

namespace locus {

// The score terms of one head, in double and in units of ln; -inf hides a key.
// Kernels use this class where no vectorised code applies.
class ScoreTerms {
 public:
  ScoreTerms(const AttentionProblem& problem, int64_t b, int64_t h,
             bool with_bias)
      : problem_(problem), b_(b), h_(h), with_bias_(with_bias) {}

  // Sets values[0 .. count) to the terms of query i and keys first, first + 1,
  // ...
  void Row(int64_t i, int64_t first, int64_t count, double* values) const;
  // The largest term of query i over some keys, or 0 if it is not finite.
  double Max(int64_t i, const KeyInterval& keys) const;

  // Whether terms can be so large that they must be made relative to a
  // reference before they are rounded to single precision.
  static bool CanBeLarge(const AttentionProblem& problem, bool with_bias) {
    if (problem.mask && problem.mask->tensor.dtype != DType::kBool) return true;
    return with_bias && !problem.bias->is_bounded();
  }

 private:
  void AddMask(int64_t i, int64_t first, int64_t count, double* values) const;

  const AttentionProblem& problem_;
  const int64_t b_;
  const int64_t h_;
  const bool with_bias_;
};

// Converts a term to a difference from `reference`, in units of log2. Only a
// term of -inf hides a key: a finite difference below the range of T is
// clamped.
template <typename T>
T RelativeTerm(double term, double reference) {
  if (std::isinf(term)) return static_cast<T>(term);
  const double relative = (term - reference) * kLog2E;
  constexpr double kLowest = std::numeric_limits<T>::lowest();
  return static_cast<T>(relative < kLowest ? kLowest : relative);
}

}  // namespace locus
