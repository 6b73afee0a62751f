#include "client/plot/heatmap.h"

#include <cmath>
#include <limits>

#include "client/plot/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/plot/scene_testing.h"

namespace locus::client::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

// Returns the colours of the cells, which have hover text.
std::vector<Color> CellColors(const Scene& scene) {
  std::vector<Color> colors;
  for (const Rect& rect : All<Rect>(scene)) {
    if (!rect.hover.empty()) colors.push_back(rect.style.fill);
  }
  return colors;
}

TEST(HeatmapTest, DivergingMapHasThePaperColourAtZero) {
  const std::vector<Color> colors = CellColors(
      DrawHeatmaps({.panels = {{.rows = 1, .columns = 3, .values = {-1, 0, 4}}},
                    .map = ColorMap::kDiverging}));
  ASSERT_EQ(colors.size(), 3);
  EXPECT_EQ(std::get<ThemedRgb>(colors[1]).light, (Rgb{247, 247, 247}));
  EXPECT_EQ(std::get<ThemedRgb>(colors[1]).dark, (Rgb{11, 13, 16}));
  EXPECT_EQ(std::get<ThemedRgb>(colors[2]),
            ThemedColorAt(ColorMap::kDiverging, 1));
}

TEST(HeatmapTest, ValuesThatDifferByRoundingHaveSameColour) {
  const std::vector<Color> colors = CellColors(
      DrawHeatmaps({.panels = {{.rows = 1,
                                .columns = 2,
                                .values = {1, std::nextafter(1.0, 2.0)}}}}));
  ASSERT_EQ(colors.size(), 2);
  EXPECT_EQ(colors[0], colors[1]);
}

TEST(HeatmapTest, HidesHugeValues) {
  const Scene scene = DrawHeatmaps(
      {.panels = {{.rows = 1, .columns = 3, .values = {-1e308, 1e308, 1}}}});
  EXPECT_EQ(CellColors(scene).size(), 1);
  ExpectFinite(scene);
}

TEST(HeatmapTest, HiddenCellsOfImagesAreTransparent) {
  std::vector<double> values(64 * 64, 1);
  values[0] = -std::numeric_limits<double>::infinity();
  const Scene scene =
      DrawHeatmaps({.panels = {{.rows = 64, .columns = 64, .values = values}}});
  const Raster raster = All<Image>(scene).front().raster;
  EXPECT_TRUE(raster.pixels[0].hidden);
  EXPECT_FALSE(raster.pixels[1].hidden);
}

TEST(HeatmapTest, CellsHaveHoverTextWithTheIds) {
  const Scene scene = DrawHeatmaps({.panels = {{.rows = 2,
                                                .columns = 2,
                                                .values = {1, 2, 3, 4},
                                                .column_ends = {0, 1},
                                                .row_ids = {7, 500}}},
                                    .row_label = "position",
                                    .column_label = "channel"});
  EXPECT_THAT(WriteSvg(scene),
              HasSubstr("<title>position 500, channel 0: 3</title>"));
}

// Returns the texts at the right of ticks of rows, from the top.
std::vector<std::string> RowLabels(const Scene& scene) {
  std::vector<std::string> labels;
  for (const Text& text : All<Text>(scene)) {
    if (text.anchor == Anchor::kEnd) labels.push_back(text.text);
  }
  return labels;
}

TEST(HeatmapTest, TicksAreTheIds) {
  Heatmap panel{.rows = 4,
                .columns = 4,
                .values = std::vector<double>(16, 0.5),
                .row_ids = {0, 7, 500, 3},
                .column_ids = {0, 7, 500, 3}};
  const Scene scene = DrawHeatmaps({.panels = {panel}});
  EXPECT_THAT(RowLabels(scene), ::testing::ElementsAre("0", "7", "500", "3"));
  ExpectNoOverlap(scene);
}

TEST(HeatmapTest, TicksOfConsecutiveIdsAreRoundNumbers) {
  Heatmap panel{
      .rows = 50, .columns = 50, .values = std::vector<double>(2500, 0.5)};
  for (int64_t i = 0; i < 50; ++i) {
    panel.row_ids.push_back(1000 + i);
    panel.column_ids.push_back(1000 + i);
  }
  const Scene scene = DrawHeatmaps({.panels = {panel}});
  EXPECT_THAT(RowLabels(scene), ::testing::Contains("1040"));
  EXPECT_THAT(RowLabels(scene), Not(::testing::Contains("40")));
  ExpectNoOverlap(scene);
}

TEST(HeatmapTest, LongListsOfIdsHaveFewTicks) {
  Heatmap panel{.rows = 400,
                .columns = 400,
                .values = std::vector<double>(400 * 400, 0.5)};
  for (int64_t i = 0; i < 400; ++i) {
    panel.row_ids.push_back(1'000'000'007 - 3 * i);
    panel.column_ids.push_back(1'000'000'007 - 3 * i);
  }
  const Scene scene = DrawHeatmaps({.panels = {panel}});
  EXPECT_EQ(RowLabels(scene).front(), "1000000007");
  EXPECT_LT(RowLabels(scene).size(), 25);
  ExpectNoOverlap(scene);
}

TEST(HeatmapTest, PanelsCanHaveTheirOwnRange) {
  HeatmapGrid grid{.panels_per_row = 2,
                   .map = ColorMap::kDiverging,
                   .range_per_panel = true,
                   .row_label = "query",
                   .column_label = "key"};
  for (const double scale : {32.0, 0.25}) {
    grid.panels.push_back({.title = "head",
                           .subtitle = "m = 1/2",
                           .rows = 1,
                           .columns = 2,
                           .values = {0, -scale}});
  }
  const Scene scene = DrawHeatmaps(grid);
  const std::vector<Color> colors = CellColors(scene);
  ASSERT_EQ(colors.size(), 4);
  EXPECT_EQ(colors[1], colors[3]);
  ExpectNoOverlap(scene);
}

// Five panels in rows of three: the label is below panels 2, 3 and 4.
TEST(HeatmapTest, EveryColumnHasItsLabelBelowTheLastPanel) {
  HeatmapGrid grid{.panels_per_row = 3, .column_label = "key"};
  for (int i = 0; i < 5; ++i) {
    grid.panels.push_back(
        {.title = "head", .rows = 2, .columns = 2, .values = {0, 1, 2, 3}});
  }
  const Scene scene = DrawHeatmaps(grid);
  int labels = 0;
  for (const Text& text : All<Text>(scene)) {
    labels += static_cast<int>(text.text == "key \xe2\x86\x92");
  }
  EXPECT_EQ(labels, 3);
  ExpectNoOverlap(scene);
}

TEST(HeatmapTest, TooManyWordsBecomeNumbers) {
  const Scene scene =
      DrawHeatmaps(Words(std::vector<std::string>(200, "word")));
  EXPECT_THAT(WriteSvg(scene), Not(HasSubstr(">word<")));
  HeatmapGrid grid = Words(std::vector<std::string>(200, "word"));
  grid.panels[0].row_ends = grid.panels[0].column_ends = {0, 199};
  EXPECT_THAT(RowLabels(DrawHeatmaps(grid)), ::testing::Contains("100"));
  ExpectNoOverlap(DrawHeatmaps(grid));
}

TEST(HeatmapTest, CroppedKeepsIds) {
  const Heatmap part = Cropped({.rows = 2,
                                .columns = 3,
                                .values = {1, 2, 3, 4, 5, 6},
                                .row_ends = {10, 11},
                                .column_ids = {4, 8, 2}},
                               {1, 2}, {1, 3});
  EXPECT_THAT(part.values, ::testing::ElementsAre(5, 6));
  EXPECT_THAT(part.column_ids, ::testing::ElementsAre(8, 2));
  EXPECT_EQ(part.row_ends.low, 11);
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

}  // namespace
}  // namespace locus::client::plot
