#include "client/cli/render/code_products.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::EncodeResponse Table(std::vector<int64_t> shape,
                         std::vector<double> values) {
  v1::EncodeResponse response;
  *response.mutable_additive()->mutable_table() =
      *MakeTensor<double>(shape, values);
  return response;
}

TEST(GramTest, DotProductsAndCosinesOfRows) {
  const auto gram = GramOf(Table({2, 2}, {3, 4, 0, 2}), 2);
  EXPECT_THAT(gram->dot_products.values, ElementsAre(25, 8, 8, 4));
  EXPECT_NEAR(gram->cosines.At(0, 1), 0.8, 1e-12);
  EXPECT_THAT(FormatGram(*gram, {0, 7}, 80),
              HasSubstr("7   8.0000000   4.0000000\n"));
}

TEST(GramTest, RotatedOnesHaveTheNormOfTheHead) {
  v1::EncodeResponse response;
  *response.mutable_rotation()->mutable_cos() =
      *MakeTensor<double>({2, 1}, {1, 0});
  *response.mutable_rotation()->mutable_sin() =
      *MakeTensor<double>({2, 1}, {0, 1});
  // Two channels are rotated by a quarter turn, two stay.
  const auto gram = GramOf(response, 4);
  EXPECT_THAT(gram->dot_products.values, ElementsAre(4, 2, 2, 4));
}

TEST(GramTest, BiasHasNoCodes) {
  v1::EncodeResponse response;
  response.mutable_bias();
  EXPECT_FALSE(GramOf(response, 4).ok());
}

v1::Positions Range(int64_t count) {
  v1::Positions positions;
  positions.mutable_range()->set_count(count);
  return positions;
}

// sin and cos of p w for the positions 0, 1 and 2, 3: a shift by 2.
v1::EncodeResponse Waves(double w, double error) {
  std::vector<double> values;
  for (int p = 0; p < 4; ++p) {
    values.push_back(std::sin(p * w) + (p == 3 ? error : 0));
    values.push_back(std::cos(p * w));
  }
  v1::EncodeResponse response = Table({4, 2}, values);
  response.mutable_additive()->add_frequencies(w);
  return response;
}

TEST(ShiftMatrixTest, BlockIsARotation) {
  const auto matrix = ShiftMatrixOf({}, Waves(0.3, 0), 2);
  ASSERT_EQ(matrix->blocks.size(), 1u);
  EXPECT_NEAR(matrix->blocks[0].block[0][0], std::cos(0.6), 1e-15);
  EXPECT_NEAR(matrix->blocks[0].block[0][1], std::sin(0.6), 1e-15);
  EXPECT_NEAR(matrix->blocks[0].block[1][0], -std::sin(0.6), 1e-15);
  EXPECT_LT(matrix->max_error, 1e-15);
  EXPECT_EQ(matrix->position_count, 2);
}

TEST(ShiftMatrixTest, WrongCodesAreFound) {
  EXPECT_NEAR(ShiftMatrixOf({}, Waves(0.3, 0.25), 2)->max_error, 0.25, 1e-12);
}

TEST(ShiftMatrixTest, TableWithoutFrequenciesHasNone) {
  EXPECT_FALSE(ShiftMatrixOf({}, Table({2, 2}, {1, 2, 3, 4}), 1).ok());
}

TEST(ShiftMatrixTest, PositionsAreFollowedByShiftedOnes) {
  EXPECT_THAT(ShiftedPositions(Range(2), 3)->ids().ids(),
              ElementsAre(0, 1, 3, 4));
  EXPECT_FALSE(ShiftedPositions(Range(2), -1).ok());
}

}  // namespace
}  // namespace locus::client
