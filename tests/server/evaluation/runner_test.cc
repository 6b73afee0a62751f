#include "server/evaluation/runner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "server/evaluation/executor.h"
#include "server/evaluation/remaining_time.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StopBeforeTest, LeavesATenthOfTheTimeAtMostASecond) {
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(StopBefore(now + seconds(2), now), now + milliseconds(1800));
  EXPECT_EQ(StopBefore(now + seconds(100), now), now + seconds(99));
  EXPECT_EQ(StopBefore(now, now), now);
  EXPECT_EQ(StopBefore(now - seconds(1), now), now - seconds(1));
  EXPECT_EQ(StopBefore(Clock::time_point::max(), now),
            Clock::time_point::max());
}

TEST(RemainingTimeTest, IsRightForSteadyWork) {
  RemainingTime remaining;
  for (int i = 1; i < 100; ++i) {
    EXPECT_NEAR(remaining.Update(i * 0.5, i / 100.0), (100 - i) * 0.5, 1e-9);
  }
  EXPECT_EQ(remaining.Update(50, 1), 0);
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

TEST(BackgroundTest, AdmitsSoMany) {
  Background background(1, 2, Background::Priority::kLowest);
  {
    const auto first = background.Enter();
    const auto second = background.Enter();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(background.running(), 2);
    const auto third = background.Enter();
    ASSERT_NE(ShedReasonOf(third.status()), nullptr);
    EXPECT_EQ(*ShedReasonOf(third.status()), ShedReason::kEvaluations);
  }
  EXPECT_EQ(background.running(), 0);
  EXPECT_TRUE(background.Enter().ok());
}

}  // namespace
}  // namespace locus::server
