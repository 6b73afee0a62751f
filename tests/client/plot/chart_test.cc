#include <cmath>
#include <limits>
#include <set>

#include "client/plot/line_chart.h"
#include "client/plot/png.h"
#include "client/plot/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/plot/scene_testing.h"

namespace locus::client::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Returns a chart of nearly equal curves.
LineChart Curves(int count) {
  LineChart chart{.title = "t",
                  .x_label = "x",
                  .y_label = "y",
                  .log_x = true,
                  .marked_x = 64,
                  .marked_label = "trained up to 64"};
  for (int i = 0; i < count; ++i) {
    Curve curve{.name = "scheme " + std::to_string(i), .series = i};
    for (const double x : {64.0, 128.0, 256.0}) {
      curve.points.push_back({x, 2 + 0.001 * i, 1.9, 2.1});
    }
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

TEST(LineChartTest, NamesOfTenEqualCurvesDoNotOverlap) {
  ExpectNoOverlap(DrawLineChart(Curves(10)));
}

TEST(LineChartTest, NameOfReferenceDoesNotOverlap) {
  LineChart chart = Curves(3);
  chart.reference = 2;
  chart.reference_label = "chance";
  ExpectNoOverlap(DrawLineChart(chart));
}

TEST(LineChartTest, CutsLongNames) {
  LineChart chart = Curves(2);
  chart.curves[0].name = std::string(200, 'w');
  chart.title = std::string(300, 'x');
  chart.note = "many words " + std::string(100, 'y') + " and some more words";
  ExpectNoOverlap(DrawLineChart(chart));
}

TEST(LineChartTest, PointsHaveHoverText) {
  int hovers = 0;
  const Scene scene = DrawLineChart(Curves(2));
  for (const Circle& circle : All<Circle>(scene)) {
    hovers += static_cast<int>(circle.hover ==
                               "scheme 0 at 128: 2 (95 %: 1.9 to 2.1)");
  }
  EXPECT_EQ(hovers, 1);
}

TEST(LineChartTest, LeavesGapsAtNonFinitePoints) {
  LineChart chart = Curves(1);
  chart.markers = false;
  chart.curves[0].points = {{1, 1, 1, 1},
                            {2, 2, 2, 2},
                            {3, kNan, kNan, kNan},
                            {4, 1, 1, 1},
                            {5, 2, 2, 2}};
  int lines = 0;
  for (const Path& path : All<Path>(DrawLineChart(chart))) {
    lines += static_cast<int>(path.style.stroke_width == 1.8);
    for (const Point& point : path.points) {
      EXPECT_TRUE(std::isfinite(point.x) && std::isfinite(point.y));
    }
  }
  EXPECT_EQ(lines, 2);
}

TEST(LineChartTest, DrawsEmptyCharts) {
  EXPECT_THAT(WriteSvg(DrawLineChart({.title = "empty"})), HasSubstr("<svg"));
  LineChart chart = Curves(1);
  chart.curves[0].points = {{64, kNan, kNan, kNan}};
  chart.log_y = true;
  EXPECT_THAT(WriteSvg(DrawLineChart(chart)), Not(HasSubstr("nan")));
}

TEST(LineChartTest, DrawsMeansThatDifferByRounding) {
  for (const double y : {1.0, -1e12, 1e-9}) {
    LineChart chart{.title = "t"};
    chart.curves.push_back({.name = "a", .points = {{1, y, y, y}}});
    const double above = std::nextafter(y, 1e300);
    chart.curves.push_back(
        {.name = "b", .points = {{1, above, above, above}}, .series = 1});
    const Scene scene = DrawLineChart(chart);
    ExpectFinite(scene);
    ExpectNoOverlap(scene);
    // The labels of the ticks differ.
    std::set<std::string> labels;
    int ticks = 0;
    for (const Text& text : All<Text>(scene)) {
      if (text.anchor != Anchor::kEnd) continue;
      labels.insert(text.text);
      ++ticks;
    }
    EXPECT_GT(ticks, 1);
    EXPECT_EQ(labels.size(), ticks) << y;
  }
}

TEST(LineChartTest, OmitsUndrawablePoints) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const bool log : {false, true}) {
    LineChart chart = Curves(1);
    chart.log_y = log;
    chart.marked_x = 0;
    // The hover text of markers may contain "inf".
    chart.markers = false;
    chart.curves[0].points = {{-64, 2, 2, 2},
                              {0, 2, 2, 2},
                              {32, 1e308, 1e308, 1e308},
                              {64, 2, kNan, kNan},
                              {128, 3, -kInfinity, kInfinity},
                              {256, -1e308, -1e308, 1e308},
                              {512, 1e-299, -1e308, 1e308},
                              {1024, 1e299, 1, kNan}};
    ExpectFinite(DrawLineChart(chart));
  }
}

// The curves of Curves(2) differ by 0.001 and have intervals of 0.2.
TEST(LineChartTest, AxisHoldsIntervalsThatAreWiderThanTheSpreadOfMeans) {
  const LineChart chart = Curves(2);
  double top = chart.height;
  double bottom = 0;
  int bands = 0;
  for (const Path& path : All<Path>(DrawLineChart(chart))) {
    if (!path.closed || path.style.opacity != 0.13) continue;
    ++bands;
    for (const Point& point : path.points) {
      top = std::min(top, point.y);
      bottom = std::max(bottom, point.y);
    }
  }
  EXPECT_EQ(bands, 2);
  // Grid lines span the frame; the bands leave space above and below.
  double frame_top = chart.height;
  double frame_bottom = 0;
  for (const Path& path : All<Path>(DrawLineChart(chart))) {
    if (path.style.stroke != Color(Role::kQuiet)) continue;
    for (const Point& point : path.points) {
      frame_top = std::min(frame_top, point.y);
      frame_bottom = std::max(frame_bottom, point.y);
    }
  }
  EXPECT_GT(top, frame_top + 5);
  EXPECT_LT(bottom, frame_bottom - 5);
  EXPECT_GT(bottom - top, 0.6 * (frame_bottom - frame_top));
}

TEST(LineChartTest, DrawsSeedsAsDots) {
  LineChart chart = Curves(1);
  chart.markers = false;
  chart.curves[0].dots = {{64, 1.95}, {64, 5}, {128, kNan}};
  std::vector<std::string> hovers;
  const Scene scene = DrawLineChart(chart);
  for (const Circle& circle : All<Circle>(scene)) {
    hovers.push_back(circle.hover);
    EXPECT_GT(circle.center.y, 0);
  }
  EXPECT_THAT(hovers, ::testing::ElementsAre("scheme 0 at 64: 1.95",
                                             "scheme 0 at 64: 5"));
}

TEST(LineChartTest, NamesOfSeveralReferencesDoNotOverlap) {
  LineChart chart = Curves(2);
  chart.references = {{2, "trained 2048"}, {2.001, "target 8192"}};
  const Scene scene = DrawLineChart(chart);
  ExpectNoOverlap(scene);
  EXPECT_THAT(WriteSvg(scene), HasSubstr("target 8192"));
}

TEST(SvgTest, EscapesText) {
  LineChart chart = Curves(1);
  chart.title = "</title><script>alert(1)</script>";
  chart.curves[0].name = "<b>&\"";
  const std::string svg = WriteSvg(DrawLineChart(chart));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
}

TEST(SvgTest, FollowsThemeOfViewerByDefault) {
  const Scene scene = DrawLineChart(Curves(1));
  EXPECT_THAT(WriteSvg(scene), HasSubstr("prefers-color-scheme"));
  EXPECT_THAT(WriteSvg(scene, {.theme = Theme::kDark}),
              Not(HasSubstr("prefers-color-scheme")));
}

TEST(PngTest, HasTwoPixelsPerUnit) {
  const auto png = WritePng(DrawLineChart(Curves(1)), Theme::kDark);
  ASSERT_TRUE(png.ok());
  EXPECT_EQ(png->substr(0, 8), "\x89PNG\r\n\x1a\n");
  const auto byte = [&](size_t i) { return static_cast<uint8_t>((*png)[i]); };
  EXPECT_EQ(byte(18) * 256 + byte(19), 2 * 760);
  EXPECT_EQ(byte(22) * 256 + byte(23), 2 * 430);
}

TEST(PngTest, RejectsOversizedScenes) {
  EXPECT_FALSE(WritePng({.width = 1e6, .height = 10}, Theme::kLight).ok());
}

}  // namespace
}  // namespace locus::client::plot
