#include "core/base/dtype.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(DTypeTest, NarrowTypesRoundToNearestEven) {
  const float values[] = {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f, 65520.0f};
  uint16_t bits[3];
  WriteRow(DType::kBFloat16, values, 2, bits);
  EXPECT_EQ(bits[0], 0x3f80);  // a tie, rounded down to even
  EXPECT_EQ(bits[1], 0x3f82);  // a tie, rounded up to even
  WriteRow(DType::kFloat16, values + 2, 1, bits);
  EXPECT_EQ(bits[0], 0x7c00);  // beyond the largest half: infinity
}

TEST(DTypeTest, SpecialValuesSurviveConversion) {
  const double values[] = {std::nan(""), -INFINITY, INFINITY, -0.0};
  for (const DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    char bytes[4 * 8 + 1];
    double read[4];
    WriteRow(dtype, values, 4, bytes + 1);  // unaligned
    ReadRow(dtype, bytes + 1, 4, read);
    EXPECT_TRUE(std::isnan(read[0]));
    EXPECT_EQ(read[1], -INFINITY);
    EXPECT_EQ(read[2], INFINITY);
    EXPECT_TRUE(std::signbit(read[3]));
  }
}

TEST(DTypeTest, DoubleToNarrowTypeRoundsOnce) {
  // The value is just above the midpoint of two halves. Rounded to float first,
  // it would become the midpoint and then round down to even.
  const double half = 1.0 + 0x1p-11 + 0x1p-40;
  uint16_t bits;
  WriteRow(DType::kFloat16, &half, 1, &bits);
  EXPECT_EQ(bits, 0x3c01);
  const double bfloat = 1.0 + 0x1p-8 + 0x1p-40;
  WriteRow(DType::kBFloat16, &bfloat, 1, &bits);
  EXPECT_EQ(bits, 0x3f81);
}

TEST(DTypeTest, LongRowsConvertInChunks) {
  constexpr int64_t kCount = 600;
  double values[kCount], read[kCount];
  uint16_t bits[kCount];
  for (int64_t i = 0; i < kCount; ++i) values[i] = static_cast<double>(i);
  WriteRow(DType::kFloat16, values, kCount, bits);
  ReadRow(DType::kFloat16, bits, kCount, read);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(read[i], values[i]);
}

}  // namespace
}  // namespace locus
