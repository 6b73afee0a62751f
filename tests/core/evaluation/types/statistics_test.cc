// Tests of Student's t intervals.
#include "core/evaluation/types/statistics.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(StudentQuantileTest, MatchesTables) {
  // Values of qt(0.975, n) in R.
  const std::pair<int64_t, double> kKnown[] = {
      {1, 12.706204736174698},  {2, 4.302652729749462},
      {3, 3.182446305283709},   {4, 2.776445105197793},
      {5, 2.570581835636314},   {9, 2.262157162798205},
      {10, 2.228138851986274},  {29, 2.045229642132703},
      {30, 2.042272456301238},  {60, 2.000297821058262},
      {120, 1.979930405052777}, {1000, 1.962339080774446}};
  for (const auto& [degrees, expected] : kKnown) {
    EXPECT_NEAR(StudentQuantile(degrees), expected, 1e-8) << degrees;
  }
}

TEST(StudentQuantileTest, ConvergesToTheNormalDistribution) {
  double before = StudentQuantile(1);
  for (int64_t degrees = 2; degrees <= 1000; ++degrees) {
    const double here = StudentQuantile(degrees);
    ASSERT_LT(here, before) << degrees;
    before = here;
  }
  EXPECT_NEAR(StudentQuantile(int64_t{1} << 40), 1.959963984540054, 1e-9);
}

TEST(StudentQuantileTest, SeriesAndExpansionAgree) {
  EXPECT_LT(StudentQuantile(2001), StudentQuantile(2000));
  EXPECT_NEAR(StudentQuantile(2001), StudentQuantile(2000), 1e-6);
}

TEST(IntervalTest, IsStudentsIntervalAroundTheMean) {
  const MeanInterval interval = IntervalOf({1, 2, 3});
  EXPECT_EQ(interval.mean, 2);
  EXPECT_EQ(interval.count, 3);
  // 4.302652729749 / sqrt(3) = 2.484137711949
  EXPECT_NEAR(interval.high, 2 + 2.484137711949, 1e-9);
  EXPECT_NEAR(interval.low, 2 - 2.484137711949, 1e-9);
}

TEST(IntervalTest, IntervalOfOneValueIsTheValue) {
  const MeanInterval interval = IntervalOf({0.7});
  EXPECT_EQ(interval.low, 0.7);
  EXPECT_EQ(interval.mean, 0.7);
  EXPECT_EQ(interval.high, 0.7);
}

TEST(IntervalTest, IntervalOfNoValuesIsZero) {
  EXPECT_EQ(IntervalOf({}).count, 0);
  EXPECT_EQ(IntervalOf({}).mean, 0);
}

}  // namespace
}  // namespace locus
