#include "server/base/clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace locus::server {
namespace {

TEST(ClockTest, ConvertsDurationsToSeconds) {
  EXPECT_EQ(ToSeconds(std::chrono::milliseconds(1500)), 1.5);
  const Clock::time_point start;
  EXPECT_EQ(SecondsBetween(start, start + std::chrono::milliseconds(250)),
            0.25);
  EXPECT_EQ(SecondsBetween(start + std::chrono::seconds(2), start), -2);
}

TEST(ClockTest, AfterAddsSeconds) {
  const Clock::time_point start;
  EXPECT_EQ(After(start, 0.5), start + std::chrono::milliseconds(500));
}

TEST(ClockTest, AfterDoesNotOverflow) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point far =
      After(now, std::numeric_limits<double>::infinity());
  EXPECT_EQ(SecondsBetween(now, far), 1e9);
  EXPECT_EQ(After(now, 1e300), far);
}

}  // namespace
}  // namespace locus::server
