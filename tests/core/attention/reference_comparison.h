// Attention problems, and the kernels held to their slow twin.
#pragma once

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "core/attention/attention.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

// Rounding of the result for the narrow types; for single precision what the
// contract promises, which leaves room for logits near 100, whose own rounding
// is 2^-24 of them. In double, next to a bias of 5e5 (ALiBi at positions of a
// million) the twin itself keeps no more than 6e-11.
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

struct Sizes {
  int64_t batch = 1, query_heads = 1, key_heads = 1, queries = 1, keys = 1,
          dim = 8, value_dim = 8;
};

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

inline AttentionJob MustCreate(const Scheme& scheme, const Problem& problem,
                               const AttentionOptions& options) {
  auto job = AttentionJob::Create(scheme, problem.inputs(), options);
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

inline void ExpectTwin(const AttentionJob& job, DType dtype) {
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
  }
  if (expected.log_sum_exp) {
    EXPECT_LE(
        Difference(Values(*actual->log_sum_exp), Values(*expected.log_sum_exp)),
        Tolerance(wide));
  }
}

}  // namespace locus::testing
