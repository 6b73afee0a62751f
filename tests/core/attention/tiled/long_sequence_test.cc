// Long sequences: split-KV decoding over several chunks, and tile skipping.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/attention/split_kv/split_kv.h"
#include "tests/core/attention/reference_comparison.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Difference;
using testing::ExpectMatchesReference;
using testing::MakeTensor;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::Sizes;
using testing::Values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void SetRow(Tensor& tensor, int64_t row, int64_t dim, double value) {
  const std::vector<double> values(dim, value);
  WriteRow(tensor.dtype(), values.data(), dim, tensor.at(row * dim));
}

// --- split-KV decoding ---

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

// --- tile skipping ---

constexpr int64_t kLong = 1200;

Sizes LongSizes() {
  return {.query_heads = 4,
          .key_heads = 4,
          .queries = kLong,
          .keys = kLong,
          .dim = 16,
          .value_dim = 16};
}

std::unique_ptr<Scheme> SteepAlibi(bool symmetric) {
  Arguments arguments;
  arguments.Set("symmetric", symmetric);
  arguments.Set("slopes", std::vector<double>{0.9, 0.5, 0.1, 0.01});
  return MustMake("alibi", arguments);
}

AttentionOptions WithLogSumExp(bool causal) {
  AttentionOptions options;
  options.causal = causal;
  options.return_log_sum_exp = true;
  return options;
}

// The default positions as a list, for which the kernel skips no tiles.
AttentionOptions WithIds(AttentionOptions options) {
  std::vector<int64_t> ids(kLong);
  for (int64_t i = 0; i < kLong; ++i) ids[i] = i;
  options.query_positions = *Positions::Ids(ids);
  options.key_positions = *Positions::Ids(ids);
  return options;
}

double ErrorOf(const AttentionJob& job, const AttentionOutputs& reference) {
  ThreadPool pool(2);
  return Difference(Values(job.Run(pool, nullptr)->output),
                    Values(reference.output));
}

TEST(TileSkipTest, ErrorIsNotLargerThanWithoutSkipping) {
  for (const double deviation : {1.0, 4.0}) {
    const Problem problem(LongSizes(), DType::kFloat32, 6, deviation);
    for (const bool causal : {true, false}) {
      const auto scheme = SteepAlibi(!causal);
      const auto skipping = MustCreate(*scheme, problem, WithLogSumExp(causal));
      const auto complete =
          MustCreate(*scheme, problem, WithIds(WithLogSumExp(causal)));
      const AttentionOutputs reference = skipping.RunReference();
      EXPECT_LE(ErrorOf(skipping, reference),
                1.5 * ErrorOf(complete, reference))
          << deviation << causal;
      ExpectMatchesReference(skipping, DType::kFloat32);
    }
  }
}

// Biases that are small near the query and large far away: KERPLE with powers
// above 1, and Sandwich.
std::vector<std::unique_ptr<Scheme>> FarLargeBiases(bool causal) {
  Arguments kerple;
  kerple.Set("kernel", std::string("POWER"));
  kerple.Set("symmetric", !causal);
  kerple.Set("p", std::vector<double>{1.9, 1.2, 2, 0.7});
  kerple.Set("a", std::vector<double>{0.02, 1, 3, 0.5});
  std::vector<std::unique_ptr<Scheme>> schemes;
  schemes.push_back(MustMake("kerple", kerple));
  // With this width, the biases of 4 heads are as large as those of 32 heads
  // with the default width.
  Arguments sandwich;
  sandwich.Set("width", int64_t{1024});
  schemes.push_back(MustMake("sandwich", sandwich));
  return schemes;
}

TEST(OffsetBiasTest, LargeBiasesOfFarKeysAreExact) {
  const Problem problem(LongSizes(), DType::kFloat32, 8);
  for (const bool causal : {true, false}) {
    for (const auto& scheme : FarLargeBiases(causal)) {
      for (const int64_t window : {0, 90}) {
        SCOPED_TRACE(::testing::Message() << scheme->name() << causal);
        AttentionOptions options = WithLogSumExp(causal);
        options.window = window;
        const auto job = MustCreate(*scheme, problem, options);
        ExpectMatchesReference(job, DType::kFloat32);
        // A list of positions selects BiasMode::kGeneral.
        const auto general = MustCreate(*scheme, problem, WithIds(options));
        const AttentionOutputs reference = job.RunReference();
        EXPECT_LE(ErrorOf(job, reference), 1.5 * ErrorOf(general, reference));
      }
    }
  }
}

// Queries with positions beyond those of all keys see large biases only.
TEST(OffsetBiasTest, QueriesFarFromTheirKeysAreExact) {
  const Sizes s{.query_heads = 4, .key_heads = 4, .queries = 70, .keys = 200};
  const Problem problem(s, DType::kFloat32, 9);
  for (const auto& scheme : FarLargeBiases(true)) {
    for (const int64_t offset : {0, 150, 199, 200, 263, 1000}) {
      for (const int64_t start : {0, 100, 900}) {
        SCOPED_TRACE(::testing::Message()
                     << scheme->name() << " " << offset << " " << start);
        AttentionOptions options = WithLogSumExp(true);
        options.query_offset = offset;
        if (start > 0) options.query_positions = *Positions::Range(start, 70);
        ExpectMatchesReference(MustCreate(*scheme, problem, options),
                               DType::kFloat32);
      }
    }
  }
}

TEST(TileSkipTest, DoesNotSkipFarKeysWithLargeValues) {
  for (const bool causal : {true, false}) {
    Problem problem(LongSizes(), DType::kFloat32, 7);
    for (int64_t j = 0; j < 20; ++j) SetRow(problem.v, j, 16, 1e30);
    ExpectMatchesReference(
        MustCreate(*SteepAlibi(!causal), problem, WithLogSumExp(causal)),
        DType::kFloat32);
  }
}

TEST(TileSkipTest, DoesNotSkipFarKeysWithLargeNorms) {
  for (const bool causal : {true, false}) {
    Problem problem(LongSizes(), DType::kFloat32, 8);
    for (int64_t j = 0; j < 20; ++j) SetRow(problem.k, j, 16, 300);
    ExpectMatchesReference(
        MustCreate(*SteepAlibi(!causal), problem, WithLogSumExp(causal)),
        DType::kFloat32);
  }
}

TEST(TileSkipTest, DoesNotSkipFarKeysWithNaNs) {
  for (const bool in_key : {true, false}) {
    Problem problem(LongSizes(), DType::kFloat32, 9);
    SetRow(in_key ? problem.k : problem.v, 3, 16, kNaN);
    const auto job =
        MustCreate(*SteepAlibi(false), problem, WithLogSumExp(true));
    ThreadPool pool(1);
    const auto output = Values(job.Run(pool, nullptr)->output);
    EXPECT_FALSE(std::isnan(output[2 * 16]));
    EXPECT_TRUE(std::isnan(output[(kLong - 1) * 16]));
  }
}

// --- masks that hide all or no keys of a tile ---

TEST(MaskTest, FullyHiddenAndFullyVisibleTilesMatchReference) {
  Problem problem(LongSizes(), DType::kFloat32, 11);
  Tensor mask(DType::kBool, {4, kLong, kLong});
  for (int64_t n = 0; n < mask.element_count(); ++n) {
    const int64_t i = n / kLong % kLong;
    const int64_t j = n % kLong;
    // Blocks along the diagonal, a fully visible column, and single keys beyond
    // key 700.
    *mask.at(n) = i / 200 == j / 200 || j < 100 || (j > 700 && j % 3 == 0);
  }
  // Tiles that are hidden from all queries; their values must have no effect.
  for (int64_t n = 0; n < mask.element_count(); ++n) {
    if (n % kLong >= 1000) *mask.at(n) = 0;
  }
  for (int64_t j = 1000; j < kLong; ++j) SetRow(problem.v, j, 16, kNaN);
  for (const char* scheme : {"none", "t5_bias"}) {
    for (const bool causal : {true, false}) {
      AttentionOptions options = WithLogSumExp(causal);
      options.mask = mask.view();
      SCOPED_TRACE(scheme);
      ExpectMatchesReference(MustCreate(*MustMake(scheme), problem, options),
                             DType::kFloat32);
    }
  }
}

// --- scores far above the estimated maximum ---

TEST(FusedTileTest, LaterTilesMayExceedTheEstimatedMaximum) {
  // Keys near the queries are tiny; norms grow with every tile in both
  // directions.
  Problem problem(LongSizes(), DType::kFloat32, 10);
  for (int64_t j = 0; j < kLong; ++j) {
    const double size = std::abs(static_cast<double>(j - 600)) / 20;
    SetRow(problem.k, j, 16, j % 2 == 0 ? size : -size);
  }
  ExpectMatchesReference(
      MustCreate(*MustMake("none"), problem, WithLogSumExp(false)),
      DType::kFloat32);
  ExpectMatchesReference(
      MustCreate(*MustMake("none"), problem, WithLogSumExp(true)),
      DType::kFloat32);
}

}  // namespace
}  // namespace locus
