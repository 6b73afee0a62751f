// Tests of RunEvaluation() over a real connection are in tests/server/services.
#include "server/evaluation/runner.h"

#include <gtest/gtest.h>

#include <chrono>

#include "server/base/clock.h"

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(StopBeforeTest, LeavesOneTenthOfRemainingTime) {
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(StopBefore(now + seconds(2), now), now + milliseconds(1800));
}

TEST(StopBeforeTest, LeavesAtMostOneSecond) {
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(StopBefore(now + seconds(100), now), now + seconds(99));
}

TEST(StopBeforeTest, KeepsPastAndUnlimitedDeadlines) {
  const Clock::time_point now = Clock::now();
  EXPECT_EQ(StopBefore(now, now), now);
  EXPECT_EQ(StopBefore(now - seconds(1), now), now - seconds(1));
  EXPECT_EQ(StopBefore(Clock::time_point::max(), now),
            Clock::time_point::max());
}

}  // namespace
}  // namespace locus::server
