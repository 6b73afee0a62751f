#include "client/cli/render/json.h"

#include <limits>

#include "gtest/gtest.h"
#include "locus/client/tensor.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

TEST(JsonTest, NestsDataLikeTheShape) {
  EXPECT_EQ(JsonLine(TensorJson(*MakeTensor<float>({2, 2}, {1, 2, 3, 4}))),
            "{\"dtype\":\"FLOAT32\",\"shape\":[2,2],"
            "\"data\":[[1.0,2.0],[3.0,4.0]]}\n");
}

TEST(JsonTest, FloatsHaveTheFewestDigits) {
  EXPECT_EQ(TensorJson(*MakeTensor<float>({1}, {0.1f}))["data"].dump(),
            "[0.1]");
  EXPECT_EQ(TensorJson(*MakeTensor<double>({1}, {0.1}))["data"].dump(),
            "[0.1]");
}

TEST(JsonTest, InfinitiesAndNansAreStrings) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      TensorJson(*MakeTensor<double>({3}, {infinity, -infinity, NAN}))["data"]
          .dump(),
      "[\"Infinity\",\"-Infinity\",\"NaN\"]");
}

TEST(JsonTest, SupportsScalarsIntegersBoolsAndEmptyTensors) {
  EXPECT_EQ(TensorJson(*MakeTensor<int64_t>({}, {7}))["data"].dump(), "7");
  const bool bools[] = {true, false};
  EXPECT_EQ(TensorJson(*MakeTensor<bool>({2}, bools))["data"].dump(),
            "[true,false]");
  EXPECT_EQ(TensorJson(*MakeTensor<float>({0, 3}, {}))["data"].dump(), "[]");
}

TEST(JsonTest, EmptyTensorWithManyRowsIsAnEmptyList) {
  const int64_t large = int64_t{1} << 60;
  EXPECT_EQ(TensorJson(*MakeTensor<float>({large, 0}, {}))["data"].dump(),
            "[]");
}

TEST(JsonTest, ReplacesInvalidUtf8) {
  EXPECT_EQ(JsonLine({{"x", "\xff"}}), "{\"x\":\"\xEF\xBF\xBD\"}\n");
}

}  // namespace
}  // namespace locus::client
