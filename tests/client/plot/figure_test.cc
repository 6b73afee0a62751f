#include "client/plot/clocks.h"
#include "client/plot/compose.h"
#include "client/plot/line_chart.h"
#include "client/plot/png.h"
#include "client/plot/png_text.h"
#include "client/plot/provenance.h"
#include "client/plot/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/plot/scene_testing.h"

namespace locus::client::plot {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Scene Wave(const std::string& title) {
  LineChart chart{.title = title,
                  .x_label = "position",
                  .names = false,
                  .width = 380,
                  .height = 150,
                  .title_size = kPanelTitleSize};
  chart.curves = {{.name = "a", .points = {{0, 0, 0, 0}, {1, 1, 1, 1}}}};
  return DrawLineChart(chart);
}

TEST(ComposeTest, PanelsDoNotOverlap) {
  const Scene scene =
      Compose({.title = "Waveforms",
               .note = "A note.",
               .legend = {{"cosine", 0}, {"sine", 1}},
               .panels = {Wave("0"), Wave("1"), Wave("2"), Wave("3")},
               .columns = 2});
  ExpectNoOverlap(scene);
  EXPECT_EQ(scene.width, 760);
  EXPECT_GT(scene.height, 300);
}

TEST(ComposeTest, LegendWraps) {
  std::vector<LegendEntry> legend;
  for (int i = 0; i < 10; ++i) {
    legend.push_back({"a scheme with a long name " + std::to_string(i), i});
  }
  ExpectNoOverlap(
      Compose({.title = "t", .legend = legend, .panels = {Wave("0")}}));
}

TEST(ComposeTest, ColumnsLeaveFewEmptyPlaces) {
  EXPECT_EQ(BalancedColumns(1, 4), 1);
  EXPECT_EQ(BalancedColumns(3, 4), 3);
  EXPECT_EQ(BalancedColumns(4, 4), 2);
  EXPECT_EQ(BalancedColumns(5, 4), 3);
  EXPECT_EQ(BalancedColumns(6, 4), 3);
  EXPECT_EQ(BalancedColumns(8, 4), 4);
  EXPECT_EQ(BalancedColumns(12, 4), 4);
}

ClockGrid Clocks() {
  ClockGrid grid{.title = "Clocks",
                 .positions = {0, 1, 2, 3, 4, 5, 6, 7},
                 .trained_label = "trained up to 2048",
                 .target_label = "target length 8192"};
  for (const double frequency : {1.0, 0.3, 0.05, 0.0004, 0.0}) {
    grid.clocks.push_back({.title = "pair",
                           .captions = {"wavelength 6.283", "326 turns"},
                           .radians_per_position = frequency,
                           .trained_radians = 2048 * frequency,
                           .target_radians = 8192 * frequency});
  }
  return grid;
}

TEST(ClocksTest, TextsDoNotOverlap) {
  const Scene scene = DrawClocks(Clocks());
  ExpectNoOverlap(scene);
  ExpectFinite(scene);
}

// Pair 3 reaches 0.13 turns in training and 0.52 at the target length; only it
// has angles that training did not cover.
TEST(ClocksTest, ShadesAnglesBeyondTraining) {
  int beyond = 0;
  for (const Path& path : All<Path>(DrawClocks(Clocks()))) {
    beyond += static_cast<int>(path.style.fill == Color(SeriesRole(1)) &&
                               path.closed);
  }
  EXPECT_EQ(beyond, 1);
}

TEST(ClocksTest, PositiveAnglesTurnCounterclockwise) {
  ClockGrid grid{.clocks = {{.radians_per_position = 1.5}},
                 .positions = {0, 1}};
  bool found = false;
  for (const Path& path : All<Path>(DrawClocks(grid))) {
    if (path.hover != "position 1: 0.2387 turns" || path.closed) continue;
    found = true;
    EXPECT_LT(path.points[1].y, path.points[0].y);
  }
  EXPECT_TRUE(found);
}

TEST(ProvenanceTest, SvgHasCommandInMetadataAndFooter) {
  Scene scene = Wave("t");
  const double height = scene.height;
  AddProvenance({"locus plot heatmap '<&>'", "locus 0.1.0"}, scene);
  const std::string svg = WriteSvg(scene);
  EXPECT_THAT(svg, HasSubstr("<metadata>command: locus plot heatmap "
                             "&#39;&lt;&amp;&gt;&#39;\nsoftware: locus 0.1.0"
                             "</metadata>"));
  EXPECT_THAT(svg, HasSubstr(">locus plot heatmap &#39;&lt;&amp;&gt;&#39;</"));
  EXPECT_GT(scene.height, height);
  ExpectNoOverlap(scene);
}

TEST(ProvenanceTest, LongCommandsAreCutInTheFooterOnly) {
  Scene scene = Wave("t");
  std::string command = "locus";
  for (int i = 0; i < 100; ++i) command += " --scheme " + std::to_string(i);
  AddProvenance({command, "locus"}, scene);
  ExpectNoOverlap(scene);
  EXPECT_LT(scene.height, 220);
  EXPECT_THAT(WriteSvg(scene), HasSubstr("command: " + command));
}

TEST(ProvenanceTest, PictureWithoutCommandHasNoMetadata) {
  EXPECT_THAT(WriteSvg(Wave("t")), Not(HasSubstr("<metadata>")));
}

TEST(ProvenanceTest, PngHasCommandAsText) {
  Scene scene = Wave("t");
  AddProvenance({"locus plot", "locus 0.1.0"}, scene);
  const auto png = WritePng(scene, Theme::kLight);
  ASSERT_TRUE(png.ok());
  using std::string_literals::operator""s;
  EXPECT_THAT(*png, HasSubstr("tEXtSource\0locus plot"s));
  EXPECT_THAT(*png, HasSubstr("tEXtSoftware\0locus 0.1.0"s));
}

// The checksum of the chunk "tEXt" with "a\0b", as zlib computes it.
TEST(PngTextTest, ChunkHasLengthAndChecksum) {
  using std::string_literals::operator""s;
  std::string png = "\x89PNG\r\n\x1a\n"s + std::string(25, 'h') + "rest";
  AddPngText("a", "b", png);
  EXPECT_EQ(png.substr(33),
            "\0\0\0\x03tEXta\0b"s + "\xdc\x49\xa2\x3b"s + "rest");
}

TEST(PngTextTest, OtherLettersUseInternationalText) {
  using std::string_literals::operator""s;
  std::string png = "\x89PNG\r\n\x1a\n"s + std::string(25, 'h');
  AddPngText("Source", "caf\xc3\xa9\n", png);
  EXPECT_THAT(png, HasSubstr("iTXtSource\0\0\0\0\0caf\xc3\xa9 "s));
}

}  // namespace
}  // namespace locus::client::plot
