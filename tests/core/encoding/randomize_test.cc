#include "core/encoding/randomize.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Difference;
using testing::MustMake;
using testing::RandomTensor;
using testing::Values;

TEST(RandomizeTest, DrawsDistinctPositionsInAscendingOrder) {
  const auto drawn = *DrawPositions({.maximum = 1000, .seed = 3}, 200);
  ASSERT_EQ(drawn.size(), 200);
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(std::set<int64_t>(drawn.begin(), drawn.end()).size(), 200);
  EXPECT_GE(drawn.front(), 0);
  EXPECT_LT(drawn.back(), 1000);
  EXPECT_EQ(drawn, *DrawPositions({.maximum = 1000, .seed = 3}, 200));
  EXPECT_NE(drawn, *DrawPositions({.maximum = 1000, .seed = 4}, 200));
}

// The largest position plus one would overflow.
TEST(RandomizeTest, RejectsTheLargestPosition) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const int64_t maximum : {int64_t{2048}, int64_t{1} << 40, kLargest}) {
    Positions queries = *Positions::Ids({0, kLargest});
    Positions keys;
    EXPECT_FALSE(
        Randomize({.maximum = maximum, .seed = 1}, {&queries, &keys}).ok())
        << maximum;
  }
}

TEST(RandomizeTest, DrawingAllPositionsChangesNothing) {
  const auto drawn = *DrawPositions({.maximum = 50, .seed = 3}, 50);
  for (int64_t n = 0; n < 50; ++n) EXPECT_EQ(drawn[n], n);
}

TEST(RandomizeTest, EverySchemeUsesTheDrawnPositions) {
  const auto drawn = *DrawPositions({.maximum = 300, .seed = 9}, 12);
  for (const SchemeInfo& info : AllSchemes()) {
    SCOPED_TRACE(info.name);
    EncodeOptions options;
    options.dim = 8;
    options.head_count = 2;
    options.dtype = DType::kFloat64;
    options.positions = *Positions::Range(0, 12);
    const auto scheme = MustMake(info.name);
    scheme->Randomize({.maximum = 300, .seed = 9});
    const Tensor x = RandomTensor(DType::kFloat64, {2, 12, 12}, 1, "x");
    const Tensor rows = RandomTensor(DType::kFloat64, {12, 8}, 1, "x");
    options.input = info.site == Site::kScores ? x.view() : rows.view();
    ThreadPool pool(1);
    const auto random = EncodeJob::Create(*scheme, options)->Run(pool, nullptr);
    options.positions = *Positions::Ids(drawn);
    const auto given =
        EncodeJob::Create(*MustMake(info.name), options)->Run(pool, nullptr);
    EXPECT_EQ(Difference(Values(*random->output), Values(*given->output)), 0);
  }
}

TEST(RandomizeTest, RejectsMoreTokensThanPositions) {
  const auto scheme = MustMake("rope");
  scheme->Randomize({.maximum = 10, .seed = 0});
  EncodeOptions options;
  options.dim = 8;
  options.positions = *Positions::Range(0, 11);
  EXPECT_EQ(FieldOf(EncodeJob::Create(*scheme, options).status()),
            "scheme.randomized.maximum");
  options.positions = *Positions::Range(0, 10);
  EXPECT_TRUE(EncodeJob::Create(*scheme, options).ok());
}

}  // namespace
}  // namespace locus
