#include "core/base/positions.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/status.h"

namespace locus {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(PositionsTest, ConsecutiveIdsAreARange) {
  EXPECT_TRUE(Positions::Ids({5, 6, 7})->is_range());
  EXPECT_FALSE(Positions::Ids({5, 7, 6})->is_range());
}

TEST(PositionsTest, ReportsLargestAndSmallestPosition) {
  EXPECT_EQ(Positions::Ids({5, 7, 6})->max(), 7);
  EXPECT_EQ(Positions::Ids({5, 7, 6})->min(), 5);
  EXPECT_EQ(Positions::Range(3, 4)->max(), 6);
  EXPECT_EQ(Positions::Range(3, 0)->max(), -1);
}

TEST(PositionsTest, RejectsNegativePositionsAndOverflow) {
  EXPECT_EQ(FieldOf(Positions::Ids({0, 3, -1}).status()), "ids[2]");
  EXPECT_EQ(FieldOf(Positions::Range(-1, 3).status()), "start");
  EXPECT_EQ(FieldOf(Positions::Range(0, -3).status()), "count");
  EXPECT_EQ(FieldOf(Positions::Range(kMax, 2).status()), "count");
}

TEST(PositionsTest, OffsetsCoverAllPairs) {
  const Positions from = *Positions::Range(10, 3);  // 10 .. 12
  const Positions to = *Positions::Ids({4, 20});
  const auto offsets = OffsetsBetween(from, to, 100);
  ASSERT_TRUE(offsets.has_value());
  EXPECT_EQ(offsets->lowest, 4 - 12);
  EXPECT_EQ(offsets->count, (20 - 10) - (4 - 12) + 1);
}

TEST(PositionsTest, OffsetsAreLimitedInNumber) {
  const Positions range = *Positions::Range(0, 10);
  EXPECT_TRUE(OffsetsBetween(range, range, 19).has_value());
  EXPECT_FALSE(OffsetsBetween(range, range, 18).has_value());
  EXPECT_FALSE(OffsetsBetween(range, Positions(), 100).has_value());
  const Positions extremes = *Positions::Ids({0, kMax});
  EXPECT_FALSE(OffsetsBetween(extremes, extremes, kMax).has_value());
}

TEST(PositionsTest, SmallestOfIgnoresEmptySequences) {
  const Positions range = *Positions::Range(7, 2);
  EXPECT_EQ(SmallestOf(range, Positions()), 7);
  EXPECT_EQ(SmallestOf(Positions(), range), 7);
  EXPECT_EQ(SmallestOf(range, *Positions::Ids({9, 3})), 3);
}

}  // namespace
}  // namespace locus
