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
