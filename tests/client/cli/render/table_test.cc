#include "client/cli/render/table.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The elements are 0, step, 2 step, ...
v1::Tensor Ramp(std::vector<int64_t> shape, double step) {
  const int64_t count = *ElementCount(shape, v1::DATA_TYPE_FLOAT64);
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = step * static_cast<double>(i);
  return *MakeTensor<double>(shape, values);
}

TEST(TableTest, ShowsSmallMatricesCompletely) {
  EXPECT_EQ(FormatTensor({.title = "x"},
                         *MakeTensor<float>({2, 2}, {0.5f, -1, 2, 0.25f})),
            "x  float32 [2, 2]\n"
            "         0        1\n"
            "0   0.5000  -1.0000\n"
            "1   2.0000   0.2500\n");
}

TEST(TableTest, IntegersHaveNoDecimals) {
  EXPECT_EQ(FormatTensor({.title = "x"}, *MakeTensor<int64_t>({2}, {3, -40})),
            "x  int64 [2]\n"
            "     0    1\n"
            "0    3  -40\n");
}

TEST(TableTest, ShowsInfinityAndNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string text = FormatTensor(
      {.title = "x"}, *MakeTensor<double>({1, 3}, {-infinity, NAN, 0.5}));
  EXPECT_THAT(text, HasSubstr("-inf     nan  0.5000"));
}

TEST(TableTest, UsesExponentsForVeryLargeAndVerySmallNumbers) {
  EXPECT_THAT(FormatTensor({.title = "x"}, Ramp({2}, 1.5e7)),
              HasSubstr("1.500e+07"));
  EXPECT_THAT(FormatTensor({.title = "x"}, Ramp({2}, 1.5e-7)),
              HasSubstr("1.500e-07"));
}

TEST(TableTest, LargeMatrixFitsTheWidth) {
  const std::string text =
      FormatTensor({.title = "x", .width = 60}, Ramp({1000, 500}, 0.001));
  int lines = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(line.size(), 60u) << line;
    ++lines;
  }
  EXPECT_LE(lines, 25);
  EXPECT_THAT(text, HasSubstr("\n999 "));
  EXPECT_THAT(text, HasSubstr(" 499\n"));
  EXPECT_THAT(text, HasSubstr("..."));
}

TEST(TableTest, LabelsRowsAndColumns) {
  const auto word = [](int64_t i) { return i == 0 ? "the" : "caf\xc3\xa9"; };
  EXPECT_EQ(
      FormatTensor({.title = "x", .row_label = word, .column_label = word},
                   Ramp({2, 2}, 0.5)),
      "x  float64 [2, 2]\n"
      "         the    caf\xc3\xa9\n"
      "the   0.0000  0.5000\n"
      "caf\xc3\xa9  1.0000  1.5000\n");
}

TEST(TableTest, ShowsOneTablePerMatrix) {
  const std::string text = FormatTensor({.title = "x"}, Ramp({2, 1, 1, 2}, 1));
  EXPECT_THAT(text, HasSubstr("x[0, 0]\n"));
  EXPECT_THAT(text, HasSubstr("x[1, 0]\n"));
}

TEST(TableTest, AbbreviatesManyTables) {
  const std::string text = FormatTensor({.title = "x"}, Ramp({9, 1, 1}, 1));
  EXPECT_THAT(text, HasSubstr("... and 5 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("x[4]")));
}

TEST(TableTest, SupportsEmptyAndScalarTensors) {
  EXPECT_EQ(FormatTensor({.title = "x"}, *MakeTensor<float>({0, 3}, {})),
            "x  float32 [0, 3]\n");
  EXPECT_THAT(FormatTensor({.title = "x"}, *MakeTensor<float>({}, {2.5f})),
              HasSubstr("2.5000"));
}

TEST(TableTest, LongLabelsAreCut) {
  const auto word = [](int64_t) { return "incomprehensibilities"; };
  EXPECT_THAT(FormatTensor({.title = "x", .column_label = word}, Ramp({1}, 1)),
              HasSubstr("  incomprehensibi\u2026\n"));
}

TEST(TableTest, AbbreviatesLongLists) {
  EXPECT_EQ(FormatList("f", {1, 0.5}), "f  1, 0.5\n");
  EXPECT_THAT(FormatList("f", std::vector<double>(100, 1)),
              HasSubstr("1, ..., 1"));
}

TEST(TableTest, WrapsLists) {
  EXPECT_EQ(FormatList("slopes", {0.5, 0.25, 0.125}, 20),
            "slopes  0.5, 0.25,\n        0.125\n");
}

}  // namespace
}  // namespace locus::client
