#include "client/cli/render/encoding_charts.h"

#include <cmath>

#include "client/cli/render/bias_charts.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/support/cli_errors.h"
#include "client/plot/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Attention weights of one head and three words: [1, 1, 3, 3].
v1::Tensor Weights(const std::vector<double>& values) {
  return *MakeTensor<double>({1, 1, 3, 3}, values);
}

std::string Chart(const v1::AttentionOptions& attention,
                  const v1::Tensor& weights) {
  const auto scene = AttentionChart({.scheme_name = "rope"}, {"a", "b", "c"},
                                    attention, weights);
  EXPECT_TRUE(scene.ok()) << scene.status();
  return scene.ok() ? plot::WriteSvg(*scene) : "";
}

TEST(AttentionChartTest, ShowsWeightsThatUnderflowToZero) {
  const std::string svg = Chart({}, Weights({1, 0, 0, 0, 1, 0, 0.5, 0.5, 0}));
  EXPECT_THAT(svg, Not(HasSubstr("Grey: masked keys")));
  EXPECT_THAT(svg, HasSubstr("a \xe2\x86\x92 c: 0<"));
}

TEST(AttentionChartTest, CausalMaskHidesLaterKeys) {
  v1::AttentionOptions causal;
  causal.set_causal(true);
  const std::string svg =
      Chart(causal, Weights({1, 0, 0, 0, 1, 0, 0.5, 0.5, 0}));
  EXPECT_THAT(svg, HasSubstr("Grey: masked keys"));
  EXPECT_THAT(svg, Not(HasSubstr("a \xe2\x86\x92 b")));
  EXPECT_THAT(svg, HasSubstr("b \xe2\x86\x92 a: 0<"));
}

TEST(AttentionChartTest, WindowHidesDistantKeys) {
  v1::AttentionOptions window;
  window.set_window(2);
  const std::string svg =
      Chart(window, Weights({1, 0, 0, 0, 1, 0, 0, 0.5, 0.5}));
  EXPECT_THAT(svg, HasSubstr("a \xe2\x86\x92 b: 0<"));
  EXPECT_THAT(svg, Not(HasSubstr("a \xe2\x86\x92 c")));
  EXPECT_THAT(svg, Not(HasSubstr("c \xe2\x86\x92 a")));
}

// A rotation of one pair by the angles 0 and 0.7.
v1::RotationEncoding TwoAngles() {
  v1::RotationEncoding rotation;
  *rotation.mutable_cos() =
      *MakeTensor<double>({2, 1}, std::vector<double>{1, std::cos(0.7)});
  *rotation.mutable_sin() =
      *MakeTensor<double>({2, 1}, std::vector<double>{0, std::sin(0.7)});
  return rotation;
}

TEST(RotatedOnesTest, CosineOfOnePairIsTheCosineOfTheAngle) {
  const auto codes = RotatedOnes(TwoAngles(), 2);
  ASSERT_TRUE(codes.ok());
  EXPECT_NEAR(Cosines(*codes)[1], std::cos(0.7), 1e-12);
}

// The cosine between (1, 1, 1, 1, 1) and (cos - sin, sin + cos, 1, 1, 1).
TEST(RotatedOnesTest, KeepsChannelsPastTheRotation) {
  const auto codes = RotatedOnes(TwoAngles(), 5);
  ASSERT_TRUE(codes.ok());
  EXPECT_NEAR(Cosines(*codes)[1], (2 * std::cos(0.7) + 3) / 5, 1e-12);
  EXPECT_NEAR(Cosines(*codes)[0], 1, 1e-12);
}

TEST(RotatedOnesTest, RejectsSinesOfAnotherShape) {
  v1::RotationEncoding rotation = TwoAngles();
  *rotation.mutable_sin() = *MakeTensor<double>({1, 1}, std::vector<double>{0});
  EXPECT_FALSE(RotatedOnes(rotation, 2).ok());
}

TEST(AttentionChartTest, ManyWordsHaveAScaleUpToThePercentile) {
  constexpr int64_t kCount = 20;
  std::vector<double> values(kCount * kCount, 0.01);
  values[0] = 0.8;
  const auto scene = AttentionChart(
      {.scheme_name = "rope"}, std::vector<std::string>(kCount, "w"), {},
      *MakeTensor<double>({1, 1, kCount, kCount}, values));
  ASSERT_TRUE(scene.ok());
  EXPECT_THAT(plot::WriteSvg(*scene),
              HasSubstr("Colours end at 0.01, the 99th"));
}

TEST(CosinesToFirstTest, IsTheFirstRowOfTheCosines) {
  const auto codes = RotatedOnes(TwoAngles(), 5);
  ASSERT_TRUE(codes.ok());
  const std::vector<double> all = Cosines(*codes);
  EXPECT_THAT(CosinesToFirst(*codes), ::testing::ElementsAre(all[0], all[1]));
}

v1::Positions ListOfIds(const std::vector<int64_t>& ids) {
  v1::Positions positions;
  positions.mutable_ids()->mutable_ids()->Add(ids.begin(), ids.end());
  return positions;
}

// A bias of two heads for the positions 3 and 900. The slope of the second head
// is 1/64 of that of the first.
v1::EncodeResponse TwoSlopes() {
  v1::EncodeResponse response;
  v1::BiasEncoding& bias = *response.mutable_bias();
  const double far = -897;
  *bias.mutable_bias() = *MakeTensor<double>(
      {2, 2, 2}, std::vector<double>{0, far, far, 0, 0, far / 64, far / 64, 0});
  bias.add_slopes(1);
  bias.add_slopes(1.0 / 64);
  return response;
}

TEST(BiasChartTest, HeadsHaveTheirSlopeAndTheIdsAsTicks) {
  const auto scene = BiasChart(
      {.scheme_name = "alibi", .positions = ListOfIds({3, 900})}, TwoSlopes());
  ASSERT_TRUE(scene.ok()) << scene.status();
  const std::string svg = plot::WriteSvg(*scene);
  EXPECT_THAT(svg, HasSubstr(">m = 1 \u00b7 halves every 0.7<"));
  EXPECT_THAT(svg, HasSubstr(">m = 1/64 \u00b7 halves every 44<"));
  EXPECT_THAT(svg, HasSubstr("query 3, key 900: \u221214.02"));
  EXPECT_THAT(svg, HasSubstr(">900<"));
}

TEST(BiasChartTest, CausalHidesKeysAfterTheQuery) {
  const auto scene = BiasChart({.scheme_name = "alibi",
                                .positions = ListOfIds({3, 900}),
                                .causal = true},
                               TwoSlopes());
  ASSERT_TRUE(scene.ok());
  const std::string svg = plot::WriteSvg(*scene);
  EXPECT_THAT(svg, HasSubstr("Grey: masked keys."));
  EXPECT_THAT(svg, Not(HasSubstr("query 3, key 900")));
  EXPECT_THAT(svg, HasSubstr("query 900, key 3"));
}

TEST(BiasChartTest, RejectsABiasOfAnotherShape) {
  EXPECT_FALSE(
      BiasChart({.scheme_name = "alibi", .positions = ListOfIds({1, 2, 3})},
                TwoSlopes())
          .ok());
}

TEST(HeatmapChartTest, RejectsColumnsPastTheTable) {
  v1::EncodeResponse response;
  *response.mutable_additive()->mutable_table() =
      *MakeTensor<double>({1, 2}, std::vector<double>{0, 1});
  ChartOptions options{.scheme_name = "sinusoidal",
                       .positions = ListOfIds({7}),
                       .columns = plot::IndexRange{0, 3}};
  const absl::Status status = HeatmapChart(options, response).status();
  EXPECT_EQ(ErrorLine(status), "--columns: 0:3 is not within 0:2");
  EXPECT_EQ(ExitCode(status), 2);
}

TEST(ClockChartTest, CountsTurnsWithinBothLengths) {
  v1::EncodeResponse response;
  v1::RotationEncoding& rotation = *response.mutable_rotation();
  rotation = TwoAngles();
  rotation.add_frequencies(0.1);
  rotation.add_unscaled_frequencies(0.4);
  rotation.set_original_length(10);
  rotation.set_target_length(40);
  const auto scene = ClockChart(
      {.scheme_name = "rope", .positions = ListOfIds({0, 1})}, response, {});
  ASSERT_TRUE(scene.ok()) << scene.status();
  EXPECT_THAT(plot::WriteSvg(*scene),
              HasSubstr(">0.6366 \u2192 0.6366 turns<"));
}

TEST(WavelengthLinesTest, HasALineForEachLength) {
  const plot::LineChart chart =
      WavelengthLines("t", "", {{"rope", {6.3, 60}}}, 2048, 8192);
  ASSERT_EQ(chart.references.size(), 2);
  EXPECT_EQ(chart.references[1].label, "target 8192");
  EXPECT_TRUE(chart.markers);
  EXPECT_TRUE(WavelengthLines("t", "", {}, 0, 0).references.empty());
}

TEST(EncodingChartsTest, InapplicableChartNamesTheApplicableOnes) {
  v1::EncodeResponse response;
  *response.mutable_rotation() = TwoAngles();
  const absl::Status status =
      BiasChart({.scheme_name = "rope"}, response).status();
  EXPECT_EQ(ExitCode(status), 2);
  EXPECT_EQ(ErrorLine(status),
            "rope has no score bias; try similarity, waveforms or attention");
}

}  // namespace
}  // namespace locus::client
