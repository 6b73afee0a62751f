#include "locus/client/tensor.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(TensorTest, RoundTripsFloats) {
  const auto tensor = MakeTensor<float>({2, 2}, {1.0f, -2.5f, 0.1f, 1e30f});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->dtype(), v1::DATA_TYPE_FLOAT32);
  EXPECT_EQ(tensor->data().size(), 16u);
  EXPECT_THAT(*ToDoubles(*tensor), ElementsAre(1.0f, -2.5f, 0.1f, 1e30f));
}

TEST(TensorTest, RoundTripsDoublesIntegersAndBools) {
  EXPECT_THAT(*ToDoubles(*MakeTensor<double>({2}, {0.1, -kInfinity})),
              ElementsAre(0.1, -kInfinity));
  EXPECT_THAT(*ToIntegers(*MakeTensor<int64_t>({2}, {-1, int64_t{1} << 62})),
              ElementsAre(-1, int64_t{1} << 62));
  const bool bools[] = {true, false};
  EXPECT_THAT(*ToIntegers(*MakeTensor<bool>({2}, bools)), ElementsAre(1, 0));
}

TEST(TensorTest, AcceptsScalarsAndEmptyTensors) {
  EXPECT_THAT(*ToDoubles(*MakeTensor<float>({}, {7.0f})), ElementsAre(7.0));
  EXPECT_THAT(*ToDoubles(*MakeTensor<float>({0, 3}, {})), ElementsAre());
}

TEST(TensorTest, RoundsHalfTypesToNearestEven) {
  // 2049 lies halfway between 2048 and 2050 and rounds to the even mantissa.
  const auto half =
      MakeTensorOf(v1::DATA_TYPE_FLOAT16, {4}, {1.0, 2049.0, 65520.0, 6e-8});
  EXPECT_THAT(*ToDoubles(*half), ElementsAre(1.0, 2048.0, kInfinity, 0x1p-24));
  const auto brain =
      MakeTensorOf(v1::DATA_TYPE_BFLOAT16, {2}, {257.0, 1.0 + 0x1p-7});
  EXPECT_THAT(*ToDoubles(*brain), ElementsAre(256.0, 1.0 + 0x1p-7));
}

TEST(TensorTest, AvoidsDoubleRoundingToHalf) {
  // The value is just above the midpoint of 1 and 1 + 2^-10. Rounding to float
  // first would give the midpoint, which then rounds to 1.
  const double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_THAT(
      *ToDoubles(*MakeTensorOf(v1::DATA_TYPE_FLOAT16, {2}, {value, -value})),
      ElementsAre(1 + 0x1p-10, -1 - 0x1p-10));
}

TEST(TensorTest, PreservesNan) {
  for (const auto dtype :
       {v1::DATA_TYPE_FLOAT32, v1::DATA_TYPE_FLOAT16, v1::DATA_TYPE_BFLOAT16}) {
    EXPECT_TRUE(std::isnan(ToDoubles(*MakeTensorOf(dtype, {1}, {NAN}))->at(0)));
  }
}

TEST(TensorTest, ConvertPreservesShapeAndValues) {
  const auto tensor = MakeTensor<int64_t>({1, 2}, {3, -4});
  const auto converted = Convert(*tensor, v1::DATA_TYPE_BFLOAT16);
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ(ShapeName(*converted), "[1, 2]");
  EXPECT_THAT(*ToDoubles(*converted), ElementsAre(3.0, -4.0));
  EXPECT_FALSE(Convert(*tensor, v1::DATA_TYPE_BOOL).ok());
}

TEST(TensorTest, RejectsWrongElementCount) {
  const auto tensor = MakeTensor<float>({2, 2}, {1.0f});
  EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("[2, 2]"));
}

TEST(TensorTest, RejectsOverflowingShapes) {
  const int64_t large = int64_t{1} << 62;
  EXPECT_FALSE(ElementCount({large, large}, v1::DATA_TYPE_FLOAT32).ok());
  EXPECT_FALSE(ElementCount({-1}, v1::DATA_TYPE_FLOAT32).ok());
  EXPECT_FALSE(ElementCount({-1, 0}, v1::DATA_TYPE_FLOAT32).ok());
  EXPECT_FALSE(ElementCount({1}, v1::DATA_TYPE_UNSPECIFIED).ok());
  EXPECT_EQ(*ElementCount({large, 0}, v1::DATA_TYPE_FLOAT32), 0);
}

TEST(TensorTest, DetectsWrongDataSize) {
  v1::Tensor tensor = *MakeTensor<float>({2}, {1.0f, 2.0f});
  tensor.mutable_data()->pop_back();
  EXPECT_FALSE(CheckTensor(tensor).ok());
  EXPECT_FALSE(ToDoubles(tensor).ok());
}

TEST(TensorTest, RoundTripsTypeNames) {
  for (const auto* name :
       {"float32", "float64", "float16", "bfloat16", "int64", "bool"}) {
    EXPECT_EQ(DataTypeName(*ParseDataType(name)), name);
  }
  EXPECT_THAT(std::string(ParseDataType("float8").status().message()),
              HasSubstr("bfloat16"));
}

}  // namespace
}  // namespace locus::client
