// What is added to scores one by one: a mask, and a bias that no table by
// offset can hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/attention/problem.h"
#include "core/attention/tiled/tile.h"

namespace locus {

// The terms of one head, in double and in nats; -inf hides.
class AddedTerms {
 public:
  AddedTerms(const AttentionProblem& problem, int64_t b, int64_t h,
             bool with_bias)
      : problem_(problem), b_(b), h_(h), with_bias_(with_bias) {}

  // Of query i and keys first .. first + count - 1.
  void Row(int64_t i, int64_t first, int64_t count, double* values) const;
  // The largest over some keys of query i; 0 if that is not finite.
  double Largest(int64_t i, const KeyInterval& keys) const;

  // Whether terms can be so large that they are taken relative to the largest.
  static bool CanBeLarge(const AttentionProblem& problem, bool with_bias) {
    if (problem.mask && problem.mask->tensor.dtype != DType::kBool) return true;
    return with_bias && !problem.bias->is_small();
  }

 private:
  void AddMask(int64_t i, int64_t first, int64_t count, double* values) const;

  const AttentionProblem& problem_;
  const int64_t b_;
  const int64_t h_;
  const bool with_bias_;
};

// A term relative to another, in units of log2. Only -inf hides; a number too
// small for T does not become one.
template <typename T>
T RelativeTerm(double term, double shift) {
  if (std::isinf(term)) return static_cast<T>(term);
  const double relative = (term - shift) * kLog2E;
  constexpr double kLowest = std::numeric_limits<T>::lowest();
  return static_cast<T>(relative < kLowest ? kLowest : relative);
}

}  // namespace locus
