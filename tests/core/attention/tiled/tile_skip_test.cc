// Tiles that the tiled kernel skips: far keys with a small bias, and keys that
// the mask hides from all queries.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/attention/tiled/long_sequence.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::ErrorOf;
using testing::ExpectMatchesReference;
using testing::kLong;
using testing::LongSizes;
using testing::MustCreate;
using testing::MustMake;
using testing::Problem;
using testing::SetRow;
using testing::Values;
using testing::WithIds;
using testing::WithLogSumExp;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<Scheme> SteepAlibi(bool symmetric) {
  Arguments arguments;
  arguments.Set("symmetric", symmetric);
  arguments.Set("slopes", std::vector<double>{0.9, 0.5, 0.1, 0.01});
  return MustMake("alibi", arguments);
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

TEST(TileMaskTest, FullyHiddenAndFullyVisibleTilesMatchReference) {
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

}  // namespace
}  // namespace locus
