#include <cmath>
#include <limits>
#include <set>

#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/plot/png.h"
#include "client/plot/svg.h"
#include "client/plot/text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// Returns all shapes of one type.
template <typename T>
std::vector<T> All(const Scene& scene) {
  std::vector<T> found;
  for (const Shape& shape : scene.shapes) {
    if (const T* each = std::get_if<T>(&shape)) found.push_back(*each);
  }
  return found;
}

struct Box {
  double left, right, top, bottom;
};

Box BoxOf(const Text& text) {
  const double width = TextWidth(text.text, text.size);
  const double left = text.at.x - (text.anchor == Anchor::kStart    ? 0
                                   : text.anchor == Anchor::kMiddle ? width / 2
                                                                    : width);
  return {left, left + width, text.at.y - 0.75 * text.size,
          text.at.y + 0.2 * text.size};
}

// Expects that horizontal texts neither overlap nor exceed the scene.
void ExpectNoOverlap(const Scene& scene) {
  const std::vector<Text> texts = All<Text>(scene);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].degrees != 0 || texts[i].text.empty()) continue;
    const Box a = BoxOf(texts[i]);
    EXPECT_GE(a.left, 0) << texts[i].text;
    EXPECT_LE(a.right, scene.width) << texts[i].text;
    EXPECT_GE(a.top, 0) << texts[i].text;
    EXPECT_LE(a.bottom, scene.height) << texts[i].text;
    for (size_t j = 0; j < i; ++j) {
      if (texts[j].degrees != 0 || texts[j].text.empty()) continue;
      const Box b = BoxOf(texts[j]);
      EXPECT_TRUE(a.right <= b.left || b.right <= a.left || a.bottom <= b.top ||
                  b.bottom <= a.top)
          << texts[i].text << " overlaps " << texts[j].text;
    }
  }
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

void ExpectFinite(const Scene& scene) {
  const std::string svg = WriteSvg(scene);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
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

TEST(LineChartTest, WideIntervalsDoNotFlattenCurves) {
  LineChart chart = Curves(2);
  for (CurvePoint& point : chart.curves[1].points)
    point = {point.x, 3, -90, 90};
  for (const Path& path : All<Path>(DrawLineChart(chart))) {
    for (const Point& point : path.points) {
      EXPECT_GE(point.y, 0);
      EXPECT_LE(point.y, chart.height);
    }
  }
}

HeatmapGrid Words(std::vector<std::string> words) {
  const auto count = static_cast<int64_t>(words.size());
  return {.title = "attention",
          .note = "a note",
          .panels = {{.title = "head 0",
                      .rows = count,
                      .columns = count,
                      .values = std::vector<double>(count * count, 0.25)}},
          .range = Interval{0, 1},
          .value_label = "weight",
          .row_words = words,
          .column_words = words};
}

TEST(HeatmapTest, WordsDoNotOverlap) {
  ExpectNoOverlap(
      DrawHeatmaps(Words({"the", "cat", "sat", "on", "the", "mat"})));
  ExpectNoOverlap(
      DrawHeatmaps(Words({"antidisestablishmentarianism", "is", "long"})));
}

TEST(HeatmapTest, SmallMultiplesDoNotOverlap) {
  HeatmapGrid grid{.title = "bias",
                   .panels_per_row = 4,
                   .value_label = "bias",
                   .row_label = "query",
                   .column_label = "key"};
  for (int i = 0; i < 8; ++i) {
    grid.panels.push_back({.title = "head " + std::to_string(i),
                           .rows = 64,
                           .columns = 64,
                           .values = std::vector<double>(64 * 64, i),
                           .row_ends = {0, 63},
                           .column_ends = {0, 63}});
  }
  ExpectNoOverlap(DrawHeatmaps(grid));
}

TEST(HeatmapTest, DivergingMapIsWhiteAtZero) {
  const Scene scene =
      DrawHeatmaps({.panels = {{.rows = 1, .columns = 3, .values = {-1, 0, 4}}},
                    .map = ColorMap::kDiverging});
  const Raster raster = All<Image>(scene).front().raster;
  EXPECT_EQ(raster.pixels[1].color, (Rgb{247, 247, 247}));
  EXPECT_EQ(raster.pixels[2].color, ColorAt(ColorMap::kDiverging, 1));
}

TEST(HeatmapTest, ValuesThatDifferByRoundingHaveSameColour) {
  const Scene scene =
      DrawHeatmaps({.panels = {{.rows = 1,
                                .columns = 2,
                                .values = {1, std::nextafter(1.0, 2.0)}}}});
  const Raster raster = All<Image>(scene).front().raster;
  EXPECT_EQ(raster.pixels[0].color, raster.pixels[1].color);
}

TEST(HeatmapTest, HidesHugeValues) {
  const Scene scene = DrawHeatmaps(
      {.panels = {{.rows = 1, .columns = 3, .values = {-1e308, 1e308, 1}}}});
  EXPECT_TRUE(All<Image>(scene).front().raster.pixels[0].hidden);
  ExpectFinite(scene);
}

TEST(HeatmapTest, HiddenCellsAreTransparent) {
  const Scene scene = DrawHeatmaps(
      {.panels = {{.rows = 1,
                   .columns = 2,
                   .values = {-std::numeric_limits<double>::infinity(), 1}}}});
  const Raster raster = All<Image>(scene).front().raster;
  EXPECT_TRUE(raster.pixels[0].hidden);
  EXPECT_FALSE(raster.pixels[1].hidden);
}

TEST(HeatmapTest, ShrunkAveragesBlocks) {
  const Heatmap small = Shrunk(
      {.rows = 2, .columns = 4, .values = {1, 3, kNan, kNan, 1, 3, 8, kNan}},
      2);
  EXPECT_EQ(small.rows, 2);
  EXPECT_EQ(small.columns, 2);
  EXPECT_EQ(small.values[0], 2);
  EXPECT_TRUE(std::isnan(small.values[1]));
  EXPECT_EQ(small.values[3], 8);
}

TEST(HeatmapTest, LargeHeatmapsGiveSmallFiles) {
  const HeatmapGrid grid{
      .panels = {{.rows = 2048,
                  .columns = 2048,
                  .values = std::vector<double>(2048 * 2048, 0.5)}}};
  EXPECT_LT(WriteSvg(DrawHeatmaps(grid)).size(), 100'000);
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
