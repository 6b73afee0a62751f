#include <algorithm>
#include <cmath>

#include "client/plot/color_map.h"
#include "client/plot/theme.h"
#include "gtest/gtest.h"

namespace locus::client::plot {
namespace {

// Relative luminance as defined by WCAG 2.1.
double Luminance(Rgb color) {
  const auto linear = [](uint8_t value) {
    const double share = value / 255.0;
    return share <= 0.03928 ? share / 12.92
                            : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) +
         0.0722 * linear(color.blue);
}

double Contrast(Rgb a, Rgb b) {
  const double high = std::max(Luminance(a), Luminance(b));
  const double low = std::min(Luminance(a), Luminance(b));
  return (high + 0.05) / (low + 0.05);
}

TEST(ThemeTest, CurvesContrastWithBackground) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    for (int i = 0; i < kSeriesCount; ++i) {
      EXPECT_GE(
          Contrast(ColorOf(SeriesRole(i), theme), ColorOf(Role::kPaper, theme)),
          3.0)
          << i;
    }
  }
}

TEST(ThemeTest, TextContrastsWithBackground) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    for (const Role role : {Role::kInk, Role::kQuiet}) {
      EXPECT_GE(Contrast(ColorOf(role, theme), ColorOf(Role::kPaper, theme)),
                4.5);
    }
  }
}

TEST(ThemeTest, CurvesDifferWithoutColour) {
  for (int i = 0; i < kSeriesCount; ++i) {
    for (int j = 0; j < i; ++j) {
      EXPECT_TRUE(SeriesDashes(i) != SeriesDashes(j) || i % 6 != j % 6);
    }
  }
}

TEST(ThemeTest, OnlyAutoHasMediaQuery) {
  EXPECT_NE(RoleStyles(Theme::kAuto).find("prefers-color-scheme"),
            std::string::npos);
  EXPECT_EQ(RoleStyles(Theme::kDark).find("@media"), std::string::npos);
}

TEST(ColorMapTest, HasExpectedEndsAndMiddle) {
  EXPECT_EQ(ColorAt(ColorMap::kSequential, 0), (Rgb{68, 1, 84}));
  EXPECT_EQ(ColorAt(ColorMap::kSequential, 1), (Rgb{253, 231, 37}));
  EXPECT_EQ(ColorAt(ColorMap::kDiverging, 0.5), (Rgb{247, 247, 247}));
  EXPECT_EQ(ColorAt(ColorMap::kDiverging, -3),
            ColorAt(ColorMap::kDiverging, 0));
}

TEST(ColorMapTest, SequentialMapIsMonotonic) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_LT(Luminance(ColorAt(ColorMap::kSequential, i / 100.0)),
              Luminance(ColorAt(ColorMap::kSequential, (i + 1) / 100.0)));
  }
}

// Zero is the end of the brightness scale that is nearest to the paper.
TEST(ColorMapTest, DivergingMapIsMonotonicOnBothSides) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    const double sign = theme == Theme::kLight ? -1 : 1;
    for (int i = 0; i < 50; ++i) {
      for (const double side : {-1.0, 1.0}) {
        const auto at = [&](int n) {
          return sign * Luminance(ColorAt(ColorMap::kDiverging,
                                          0.5 + side * n / 100.0, theme));
        };
        EXPECT_LT(at(i), at(i + 1)) << i << " " << side;
      }
    }
  }
}

TEST(ColorMapTest, TextIsReadableOnEveryColour) {
  for (const Theme theme : {Theme::kLight, Theme::kDark}) {
    for (const ColorMap map : {ColorMap::kSequential, ColorMap::kDiverging}) {
      for (int i = 0; i <= 50; ++i) {
        const Rgb color = ColorAt(map, i / 50.0, theme);
        EXPECT_GE(Contrast(color, ReadableOn(color)), 3.0) << i;
      }
    }
  }
}

TEST(ColorMapTest, PositionInEmptyRangeIsTheMiddle) {
  EXPECT_EQ(PositionInRange(3, {1, 1}), 0.5);
  EXPECT_EQ(PositionInRange(3, {1, 5}), 0.5);
  EXPECT_EQ(PositionInRange(9, {1, 5}), 1);
}

}  // namespace
}  // namespace locus::client::plot
