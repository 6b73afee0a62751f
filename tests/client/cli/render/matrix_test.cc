#include "client/cli/render/matrix.h"

#include <cmath>

#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

TEST(MatrixTest, LabelsAndDecimals) {
  const RealMatrix matrix{.rows = 2, .columns = 2, .values = {1, -0.5, 0, 10}};
  EXPECT_EQ(FormatMatrix(
                {.title = "Y",
                 .row_label = [](int64_t n) { return n == 0 ? "él" : "works"; },
                 .decimals = 2},
                matrix),
            "Y\n"
            "           0      1\n"
            "él      1.00  -0.50\n"
            "works   0.00  10.00\n");
}

TEST(MatrixTest, NumbersThatRoundToZeroHaveNoSign) {
  const RealMatrix matrix{.rows = 1, .columns = 2, .values = {-1e-9, -0.0}};
  EXPECT_EQ(FormatMatrix({.decimals = 3}, matrix),
            "       0      1\n"
            "0  0.000  0.000\n");
}

TEST(MatrixTest, ColumnsThatDoNotFitFollowBelow) {
  const RealMatrix matrix{.rows = 1, .columns = 3, .values = {1, 2, 3}};
  EXPECT_EQ(FormatMatrix({.decimals = 0, .width = 8}, matrix),
            "   0  1\n"
            "0  1  2\n"
            "   2\n"
            "0  3\n");
}

TEST(MatrixTest, MaxAbsKeepsNan) {
  EXPECT_EQ(MaxAbs({.rows = 1, .columns = 2, .values = {-3, 2}}), 3);
  EXPECT_TRUE(std::isnan(
      MaxAbs({.rows = 1, .columns = 2, .values = {std::nan(""), 2}})));
}

TEST(MatrixTest, BatchOfTwoIsNotOneMatrix) {
  EXPECT_TRUE(MatrixOf(*MakeTensor<double>({1, 1, 2}, {1, 2})).ok());
  EXPECT_FALSE(MatrixOf(*MakeTensor<double>({2, 1, 1}, {1, 2})).ok());
  EXPECT_FALSE(MatrixOf(*MakeTensor<double>({2}, {1, 2})).ok());
}

}  // namespace
}  // namespace locus::client
