// Attention problems for tests, and comparison of the kernels with the float64
// reference implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/attention.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

// Maximum difference of a tensor from the reference, relative to the largest
// element of the tensor. For the 16-bit types it is the rounding of the result.
// For float32 it is the documented accuracy, which allows for the rounding of
// scores near 100 (2^-24 relative). For float64 the reference itself is only
// accurate to 6e-11 next to a bias of 5e5 (ALiBi at position 1,000,000).
inline double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return 1e-10;
    case DType::kFloat16:
      return 1e-3;  // 2^-11 of the largest
    case DType::kBFloat16:
      return 8e-3;  // 2^-8
    default:
      return 2e-5;
  }
}

// Unit roundoff of float32 or float64.
inline double UnitRoundoff(DType dtype) {
  return (dtype == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                   : std::numeric_limits<float>::epsilon()) /
         2;
}

// Maximum relative difference of a single weight from the reference. A weight
// is exp(score - log_sum_exp), so its relative error is the absolute error of
// the exponent: up to 8 roundings of the largest intermediate score, which is
// below 2^8 in float32 and, because the float64 reference rounds in the same
// way, 2^19 (a bias of 5e5) in float64.
inline double WeightTolerance(DType wide) {
  const double max_score = wide == DType::kFloat64 ? 0x1p19 : 0x1p8;
  return 8 * max_score * UnitRoundoff(wide);
}

// Weights below this limit may be zero: Exp2() in core/simd/exp2-inl.h returns
// 0 for results below twice the smallest normal number (2^-125 or 2^-1021).
inline double MinWeight(DType wide) {
  return wide == DType::kFloat64 ? 0x1p-1021 : 0x1p-125;
}

// Expects every weight to be as close to the reference as its type allows:
// |actual - expected| <= tolerance * max(expected, tiny), where
// tiny = MinWeight() / tolerance. NaNs must be in the same elements.
inline void ExpectWeightsNear(const std::vector<double>& actual,
                              const std::vector<double>& expected, DType wide) {
  ASSERT_EQ(actual.size(), expected.size());
  const double tolerance = WeightTolerance(wide);
  const double tiny = MinWeight(wide) / tolerance;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(actual[i])) << "weights[" << i << "]";
      continue;
    }
    ASSERT_LE(std::abs(actual[i] - expected[i]),
              tolerance * std::max(expected[i], tiny))
        << "weights[" << i << "] is " << actual[i] << "; the reference is "
        << expected[i];
  }
}

struct Sizes {
  int64_t batch = 1, query_heads = 1, key_heads = 1, queries = 1, keys = 1,
          dim = 8, value_dim = 8;
};

// Normally distributed queries, keys and values. `deviation` is the standard
// deviation of queries and keys.
struct Problem {
  Tensor q, k, v;
  Problem(const Sizes& s, DType dtype, uint64_t seed, double deviation = 1)
      : q(RandomTensor(dtype, {s.batch, s.query_heads, s.queries, s.dim}, seed,
                       "q", deviation)),
        k(RandomTensor(dtype, {s.batch, s.key_heads, s.keys, s.dim}, seed, "k",
                       deviation)),
        v(RandomTensor(dtype, {s.batch, s.key_heads, s.keys, s.value_dim}, seed,
                       "v")) {}
  AttentionInputs inputs() const { return {q.view(), k.view(), v.view()}; }
};

// Sets all `dim` elements of a row to `value`.
inline void SetRow(Tensor& tensor, int64_t row, int64_t dim, double value) {
  const std::vector<double> values(dim, value);
  WriteRow(tensor.dtype(), values.data(), dim, tensor.at(row * dim));
}

inline AttentionJob MustCreate(const Scheme& scheme, const Problem& problem,
                               const AttentionOptions& options) {
  auto job = AttentionJob::Create(scheme, problem.inputs(), options);
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

// Runs the job on two threads and compares all outputs with RunReference().
inline void ExpectMatchesReference(const AttentionJob& job, DType dtype) {
  static ThreadPool* const pool = new ThreadPool(2);
  const auto actual = job.Run(*pool, nullptr);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const AttentionOutputs expected = job.RunReference();
  EXPECT_LE(Difference(Values(actual->output), Values(expected.output)),
            Tolerance(dtype));
  const DType wide =
      dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  ASSERT_EQ(actual->weights.has_value(), expected.weights.has_value());
  if (expected.weights) {
    EXPECT_LE(Difference(Values(*actual->weights), Values(*expected.weights)),
              Tolerance(wide));
    ExpectWeightsNear(Values(*actual->weights), Values(*expected.weights),
                      wide);
  }
  ASSERT_EQ(actual->log_sum_exp.has_value(), expected.log_sum_exp.has_value());
  if (expected.log_sum_exp) {
    EXPECT_LE(
        Difference(Values(*actual->log_sum_exp), Values(*expected.log_sum_exp)),
        Tolerance(wide));
  }
}

}  // namespace locus::testing
