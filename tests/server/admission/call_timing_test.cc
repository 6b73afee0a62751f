#include "server/admission/call_timing.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kArrival{std::chrono::hours(1)};

TEST(CallTimingTest, SlackIsHalfTheDeadlineButAtMostAQuarterSecond) {
  EXPECT_EQ(CallTiming(kArrival, 0.1).slack_seconds(), 0.05);
  EXPECT_EQ(CallTiming(kArrival, 60).slack_seconds(), 0.25);
}

TEST(CallTimingTest, NewCallMayWaitLessThanADeferredOne) {
  const CallTiming timing(kArrival, 60);
  EXPECT_NEAR(timing.SecondsLeft(2, false, 0, kArrival), 1.2, 1e-9);
  EXPECT_NEAR(timing.SecondsLeft(2, true, 0, kArrival), 1.6, 1e-9);
}

TEST(CallTimingTest, TimeLeftShrinksWithAge) {
  const CallTiming timing(kArrival, 60);
  EXPECT_NEAR(timing.SecondsLeft(2, true, 0, kArrival + milliseconds(600)), 1,
              1e-9);
  EXPECT_NEAR(timing.AgeSeconds(kArrival + milliseconds(600)), 0.6, 1e-9);
}

TEST(CallTimingTest, DeadlineBoundsTheWait) {
  const CallTiming timing(kArrival, 1);
  EXPECT_NEAR(timing.SecondsLeft(100, false, 0.25, kArrival), 0.75, 1e-9);
  EXPECT_TRUE(timing.DeadlineAllows(0.75, kArrival));
  EXPECT_FALSE(timing.DeadlineAllows(0.76, kArrival));
  EXPECT_FALSE(timing.DeadlineAllows(0.75, kArrival + milliseconds(10)));
}

}  // namespace
}  // namespace locus::server
