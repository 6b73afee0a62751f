#include "client/cli/render/json.h"

#include <limits>

#include "locus/client/tensor.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

TEST(JsonTest, DataIsNestedLikeTheShape) {
  EXPECT_EQ(JsonLine(TensorJson(*MakeTensor<float>({2, 2}, {1, 2, 3, 4}))),
            "{\"dtype\":\"FLOAT32\",\"shape\":[2,2],"
            "\"data\":[[1.0,2.0],[3.0,4.0]]}\n");
}

TEST(JsonTest, FloatsHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(TensorJson(*MakeTensor<float>({1}, {0.1f}))["data"].dump(),
            "[0.1]");
  EXPECT_EQ(TensorJson(*MakeTensor<double>({1}, {0.1}))["data"].dump(),
            "[0.1]");
}

TEST(JsonTest, WhatIsNoNumberIsAString) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      TensorJson(*MakeTensor<double>({3}, {infinity, -infinity, NAN}))["data"]
          .dump(),
      "[\"Infinity\",\"-Infinity\",\"NaN\"]");
}

TEST(JsonTest, ScalarsIntegersBoolsAndEmptyTensorsAreFine) {
  EXPECT_EQ(TensorJson(*MakeTensor<int64_t>({}, {7}))["data"].dump(), "7");
  const bool bools[] = {true, false};
  EXPECT_EQ(TensorJson(*MakeTensor<bool>({2}, bools))["data"].dump(),
            "[true,false]");
  EXPECT_EQ(TensorJson(*MakeTensor<float>({0, 3}, {}))["data"].dump(), "[]");
}

TEST(JsonTest, EmptyTensorOfManyRowsIsSmall) {
  const int64_t large = int64_t{1} << 60;
  EXPECT_EQ(TensorJson(*MakeTensor<float>({large, 0}, {}))["data"].dump(),
            "[]");
}

TEST(JsonTest, TextThatIsNotUtf8IsReplaced) {
  EXPECT_EQ(JsonLine({{"x", "\xff"}}), "{\"x\":\"\xEF\xBF\xBD\"}\n");
}

}  // namespace
}  // namespace locus::client
