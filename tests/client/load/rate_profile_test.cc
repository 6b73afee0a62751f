#include "client/load/rate_profile.h"

#include <utility>

#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

TEST(RateProfileTest, CountsCallsOfEverySegment) {
  const RateProfile profile({{2, 100, 100}, {3, 100, 300}, {1, 50, 50}});
  EXPECT_DOUBLE_EQ(profile.seconds(), 6);
  EXPECT_DOUBLE_EQ(profile.call_count(), 200 + 600 + 50);
  EXPECT_DOUBLE_EQ(*profile.TimeOf(0), 0);
  EXPECT_DOUBLE_EQ(*profile.TimeOf(200), 2);
  EXPECT_DOUBLE_EQ(*profile.TimeOf(825), 5.5);
  EXPECT_FALSE(profile.TimeOf(850).has_value());
}

TEST(RateProfileTest, TimeOfInvertsRamps) {
  for (const auto& [from, to] : {std::pair{0.0, 500.0},
                                 {500.0, 0.0},
                                 {10.0, 1000.0},
                                 {100.0, 100.0001}}) {
    const RateProfile profile({{4, from, to}});
    for (double calls = 0; calls < profile.call_count(); calls += 7.3) {
      const double t = *profile.TimeOf(calls);
      EXPECT_NEAR(from * t + (to - from) / 8 * t * t, calls, 1e-6);
      EXPECT_LE(t, 4);
    }
  }
}

TEST(RateProfileTest, SkipsSegmentsOfRateZero) {
  const RateProfile profile({{1, 10, 10}, {5, 0, 0}, {1, 10, 10}});
  EXPECT_DOUBLE_EQ(*profile.TimeOf(9.5), 0.95);
  EXPECT_DOUBLE_EQ(*profile.TimeOf(10), 6);
}

}  // namespace
}  // namespace locus::client::load
