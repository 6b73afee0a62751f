#include "core/base/shape.h"

#include <cstdint>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

namespace locus {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, ReportsOverflow) {
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedMul(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(CheckedProduct({1 << 20, 1 << 20, 1 << 20, 8}), std::nullopt);
  EXPECT_EQ(CheckedProduct({kMax, 1}), kMax);
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({2, -1}), std::nullopt);
}

TEST(ShapeTest, ZeroExtentMakesAnyShapeEmpty) {
  EXPECT_EQ(ElementCount({kMax, kMax, 0}), 0);
}

TEST(ShapeTest, TextFormListsExtents) {
  EXPECT_EQ(ToString(Shape{2, 8, 128}), "[2, 8, 128]");
  EXPECT_EQ(ToString(Shape{}), "[]");
}

}  // namespace
}  // namespace locus
