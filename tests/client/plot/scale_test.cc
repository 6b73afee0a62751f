#include "client/plot/scale.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client::plot {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ScaleTest, LinearMapsEndsToEnds) {
  const Scale scale = Scale::Linear({0, 10}, {100, 0});
  EXPECT_DOUBLE_EQ(scale.At(0), 100);
  EXPECT_DOUBLE_EQ(scale.At(10), 0);
  EXPECT_DOUBLE_EQ(scale.At(5), 50);
}

TEST(ScaleTest, LogMapsDoublingsToEqualSteps) {
  const Scale scale = Scale::Log({64, 256}, {0, 100});
  EXPECT_DOUBLE_EQ(scale.At(128), 50);
}

TEST(ScaleTest, EmptyIntervalMapsToMiddle) {
  EXPECT_DOUBLE_EQ(Scale::Linear({3, 3}, {0, 100}).At(3), 50);
  EXPECT_DOUBLE_EQ(Scale::Log({3, 3}, {0, 100}).At(3), 50);
  EXPECT_DOUBLE_EQ(Scale::Linear({0, 0}, {0, 100}).At(0), 50);
}

TEST(ScaleTest, ClampedStaysWithinPixels) {
  const Scale scale = Scale::Linear({0, 1}, {0, 100});
  EXPECT_DOUBLE_EQ(scale.Clamped(7), 100);
  EXPECT_DOUBLE_EQ(scale.Clamped(-7), 0);
}

TEST(NiceTicksTest, AreRoundNumbersWithinTheInterval) {
  EXPECT_THAT(NiceTicks({0, 1}, 5),
              ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
  EXPECT_THAT(NiceTicks({3, 17}, 3), ElementsAre(5, 10, 15));
  EXPECT_THAT(NiceTicks({-1, 1}, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
}

TEST(NiceTicksTest, EmptyIntervalHasOneTick) {
  EXPECT_THAT(NiceTicks({2, 2}, 5), ElementsAre(2));
}

TEST(NiceTicksTest, NearlyEqualEndsHaveOneTick) {
  for (const double low : {1.0, -1.0, 0.3, 1e6, -1e250, 1e-200}) {
    EXPECT_THAT(NiceTicks({low, std::nextafter(low, kInfinity)}, 5),
                ElementsAre(low));
  }
}

TEST(NiceTicksTest, AreFewForNarrowIntervals) {
  for (double width = 1; width > 0; width /= 2) {
    for (const double low : {0.0, 1.0, 1.0 / 3, -7e8, 1e299}) {
      for (const int count : {1, 5, 40}) {
        EXPECT_LE(NiceTicks({low, low + width}, count).size(), 2 * count + 2);
      }
    }
  }
}

TEST(NiceTicksTest, InfiniteEndsHaveOneTick) {
  EXPECT_THAT(NiceTicks({-1e308, 1e308}, 5), SizeIs(1));
  EXPECT_THAT(NiceTicks({0, kInfinity}, 5), SizeIs(1));
  EXPECT_THAT(NiceTicks({kNan, 1}, 5), SizeIs(1));
}

TEST(LogTicksTest, AreFewForWideIntervals) {
  EXPECT_LE(LogTicks({1e-299, 1e299}).size(), 8);
  EXPECT_THAT(LogTicks({0, 1}), SizeIs(1));
  EXPECT_THAT(LogTicks({1, std::nextafter(1, 2)}), SizeIs(1));
}

TEST(ScaleTest, NearlyEqualEndsMapToMiddle) {
  const double above = std::nextafter(1.0, 2.0);
  EXPECT_NEAR(Scale::Linear({1, above}, {0, 100}).At(above), 50, 1e-9);
  EXPECT_NEAR(Scale::Log({1, above}, {0, 100}).At(above), 50, 1e-9);
  EXPECT_TRUE(std::isfinite(Scale::Linear({5e-324, 5e-324}, {0, 1}).At(0)));
}

TEST(ScaleTest, WideLogScaleIsFinite) {
  EXPECT_NEAR(Scale::Log({1e-299, 1e299}, {0, 100}).At(1), 50, 1e-9);
}

TEST(LogTicksTest, DividesDecadesOfShortAxes) {
  EXPECT_THAT(LogTicks({1, 100}), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(LogTicks({1, 1e4}), ElementsAre(1, 10, 100, 1000, 10000));
}

TEST(LogTicksTest, UsesNiceTicksForVeryShortAxes) {
  EXPECT_THAT(LogTicks({2, 4}), ElementsAre(2, 2.5, 3, 3.5, 4));
}

TEST(TickLabelsTest, HaveEqualDecimals) {
  EXPECT_THAT(TickLabels({0, 0.25, 0.5}), ElementsAre("0", "0.25", "0.50"));
  EXPECT_THAT(TickLabels({64, 128}), ElementsAre("64", "128"));
  EXPECT_THAT(TickLabels({-1, 1}), ElementsAre("\xe2\x88\x92"
                                               "1",
                                               "1"));
}

TEST(TickLabelsTest, LargeAndSmallValuesHaveExponents) {
  EXPECT_THAT(TickLabels({0, 2e7}), ElementsAre("0", "2e7"));
  EXPECT_THAT(TickLabels({0, 1.5e-6}), ElementsAre("0", "1.5e-6"));
}

TEST(TickLabelsTest, NonFiniteValuesAreWords) {
  EXPECT_THAT(TickLabels({kInfinity}), ElementsAre("inf"));
  EXPECT_THAT(TickLabels({kNan, 0}), ElementsAre("nan", "0"));
}

TEST(ShortNumberTest, HasFourSignificantDigits) {
  EXPECT_EQ(ShortNumber(1.80249), "1.802");
  EXPECT_EQ(ShortNumber(0.5), "0.5");
  EXPECT_EQ(ShortNumber(12345.6), "12346");
  EXPECT_EQ(ShortNumber(0.000123456), "0.0001235");
  EXPECT_EQ(ShortNumber(-2),
            "\xe2\x88\x92"
            "2");
  EXPECT_EQ(ShortNumber(0), "0");
}

}  // namespace
}  // namespace locus::client::plot
