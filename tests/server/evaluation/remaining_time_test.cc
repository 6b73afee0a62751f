#include "server/evaluation/remaining_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace locus::server {
namespace {

TEST(RemainingTimeTest, IsExactForSteadyProgress) {
  RemainingTime remaining;
  for (int i = 1; i < 100; ++i) {
    EXPECT_NEAR(remaining.Update(i * 0.5, i / 100.0), (100 - i) * 0.5, 1e-9);
  }
  EXPECT_EQ(remaining.Update(50, 1), 0);
}

TEST(RemainingTimeTest, FollowsChangesOfSpeedSlowly) {
  RemainingTime remaining;
  EXPECT_DOUBLE_EQ(remaining.Update(10, 0.1), 90);  // 100 s in total
  // The total is 20 s by the share done: 100 + 0.2 * (20 - 100) = 84.
  EXPECT_DOUBLE_EQ(remaining.Update(10, 0.5), 74);
}

TEST(RemainingTimeTest, IgnoresInvalidShares) {
  RemainingTime remaining;
  for (const double share : {0.0, -1.0, std::nan("")}) {
    EXPECT_EQ(remaining.Update(5, share), 0) << share;
  }
  EXPECT_DOUBLE_EQ(remaining.Update(10, 0.1), 90);
}

TEST(RemainingTimeTest, IsFiniteAndNotNegative) {
  RemainingTime remaining;
  for (const double share : {0.0, -1.0, 1e-300, 0.5, 2.0, std::nan("")}) {
    for (const double elapsed : {0.0, 1e-9, 1e9}) {
      const double seconds = remaining.Update(elapsed, share);
      EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << share;
    }
  }
}

}  // namespace
}  // namespace locus::server
