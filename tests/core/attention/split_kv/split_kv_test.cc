// Split-KV decoding compared with the reference implementation.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/split_kv/split_kv.h"
#include "tests/core/attention/reference_comparison.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::ExpectMatchesReference;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::SetRow;
using testing::Sizes;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionOptions LastQueries() {
  AttentionOptions options;
  options.causal = true;
  options.bottom_right = true;
  options.return_weights = true;
  options.return_log_sum_exp = true;
  return options;
}

TEST(SplitKvTest, SeveralChunksMatchReference) {
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    for (const int64_t queries : {1, 2}) {
      const Sizes s{.batch = 2,
                    .query_heads = 8,
                    .key_heads = 2,
                    .queries = queries,
                    .keys = 9500,
                    .dim = 20,
                    .value_dim = 37};
      const Problem problem(s, dtype, 1);
      for (const char* scheme : {"none", "rope", "alibi", "t5_bias"}) {
        SCOPED_TRACE(::testing::Message() << scheme << " " << queries);
        ExpectMatchesReference(
            MustCreate(*MustMake(scheme), problem, LastQueries()), dtype);
      }
    }
  }
}

TEST(SplitKvTest, SoftcapsAndWindowsMatchReference) {
  const Sizes s{.query_heads = 2, .key_heads = 1, .queries = 3, .keys = 8400};
  const Problem problem(s, DType::kFloat32, 2);
  for (const int64_t window : {0, 1, 100, 4097, 9000}) {
    for (const double softcap : {0.0, 3.0}) {
      AttentionOptions options = LastQueries();
      options.window = window;
      options.softcap = softcap;
      SCOPED_TRACE(::testing::Message() << window << " " << softcap);
      ExpectMatchesReference(MustCreate(*MustMake("alibi"), problem, options),
                             DType::kFloat32);
    }
  }
}

// With a window, rows begin in the middle of a vector. The last vector of a row
// must not overwrite the next row.
TEST(SplitKvTest, SoftcapDoesNotOverwriteTheNextRow) {
  const Sizes s{
      .query_heads = 2, .key_heads = 1, .queries = 2, .keys = kChunkKeys};
  const Problem problem(s, DType::kFloat32, 7);
  AttentionOptions options = LastQueries();
  options.window = kChunkKeys - 1;
  options.softcap = 0.5;
  ExpectMatchesReference(MustCreate(*MustMake("none"), problem, options),
                         DType::kFloat32);
}

TEST(SplitKvTest, HiddenKeysDoNotLeak) {
  const Sizes s{.queries = 2, .keys = 8400};
  Problem problem(s, DType::kFloat32, 3);
  Tensor mask(DType::kBool, {2, 8400});
  for (int64_t n = 0; n < 2 * 8400; ++n) *mask.at(n) = n % 3 != 0;
  // The second chunk is hidden from the second query.
  for (int64_t j = kChunkKeys; j < 2 * kChunkKeys; ++j) *mask.at(8400 + j) = 0;
  // These keys are hidden from the first query and visible to the second.
  for (const int64_t j : {0, 3, 4101, 8301}) SetRow(problem.v, j, 8, kInfinity);
  AttentionOptions options;
  options.mask = mask.view();
  options.return_weights = true;
  options.return_log_sum_exp = true;
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  EXPECT_TRUE(std::isfinite(Values(job.Run(pool, nullptr)->output)[0]));
  ExpectMatchesReference(job, DType::kFloat32);
}

// xPos factors that overflow float32 are computed in float64, while the weights
// are returned as float32.
TEST(SplitKvTest, LargeXposFactorsMatchReference) {
  const Sizes s{.queries = 1, .keys = 200};
  const Problem problem(s, DType::kFloat32, 5);
  std::vector<int64_t> ids(s.keys);
  for (int64_t j = 0; j < s.keys; ++j) ids[j] = 1000 * j;
  AttentionOptions options = LastQueries();
  options.query_positions = *Positions::Ids({1000 * s.keys});
  options.key_positions = *Positions::Ids(ids);
  ExpectMatchesReference(MustCreate(*MustMake("xpos"), problem, options),
                         DType::kFloat32);
}

TEST(SplitKvTest, FullyMaskedQueryIsZero) {
  const Sizes s{.queries = 1, .keys = 5000};
  const Problem problem(s, DType::kFloat32, 4);
  const Tensor mask = Tensor::Zeros(DType::kBool, {5000});
  AttentionOptions options;
  options.mask = mask.view();
  options.return_weights = true;
  options.return_log_sum_exp = true;
  const auto job = MustCreate(*MustMake("none"), problem, options);
  ThreadPool pool(1);
  const auto out = job.Run(pool, nullptr);
  EXPECT_EQ(Values(out->output), std::vector<double>(8, 0.0));
  EXPECT_EQ(Values(*out->weights), std::vector<double>(5000, 0.0));
  EXPECT_EQ(Values(*out->log_sum_exp)[0], -kInfinity);
}

TEST(SplitKvTest, IsBitIdenticalForAnyNumberOfThreads) {
  const Sizes s{.queries = 1, .keys = 18000, .dim = 64, .value_dim = 64};
  const Problem problem(s, DType::kFloat32, 5);
  const auto job = MustCreate(*MustMake("rope"), problem, LastQueries());
  ThreadPool one(1);
  const auto expected = Values(job.Run(one, nullptr)->output);
  for (const int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(Values(job.Run(pool, nullptr)->output), expected) << threads;
  }
}

}  // namespace
}  // namespace locus
