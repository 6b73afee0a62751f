// Helpers for the tests of schemes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/attention.h"
#include "core/encoding/scheme.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

// The code of one position. The call's largest position is max_position, or
// `position` if that is larger.
inline std::vector<double> CodeRow(const Scheme& scheme, int64_t position,
                                   int64_t dim, int64_t max_position = -1) {
  const auto compiled = scheme.Compile(
      {.dim = dim, .max_position = std::max(position, max_position)});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  std::vector<double> row(dim, 99.0);
  std::get<std::unique_ptr<AdditiveCode>>(*compiled)->Row(position,
                                                          absl::MakeSpan(row));
  return row;
}

// The bias that a scheme compiles to.
inline std::unique_ptr<ScoreBias> BiasOf(const Scheme& scheme, int64_t heads,
                                         int64_t max_position = 4096,
                                         bool trainable = false) {
  auto compiled = scheme.Compile({.head_count = heads,
                                  .max_position = max_position,
                                  .trainable = trainable});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::get<std::unique_ptr<ScoreBias>>(*std::move(compiled));
}

// Attention of one head over `length` random tokens.
inline absl::StatusOr<AttentionOutputs> Attend(const Scheme& scheme,
                                               int64_t length, DType dtype,
                                               bool causal = true) {
  const Tensor q = RandomTensor(dtype, {1, 1, length, 8}, 1, "q");
  const Tensor k = RandomTensor(dtype, {1, 1, length, 8}, 1, "k");
  AttentionOptions options;
  options.causal = causal;
  auto job =
      AttentionJob::Create(scheme, {q.view(), k.view(), k.view()}, options);
  if (!job.ok()) return job.status();
  ThreadPool pool(2);
  return job->Run(pool, nullptr);
}

inline double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace locus::testing
