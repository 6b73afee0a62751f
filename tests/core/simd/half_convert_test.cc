// Compares conversions with their definition for every 16-bit value, on every
// instruction set.
#include "core/simd/half_convert.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/every_target.h"

namespace locus {
namespace {

using testing::ForEveryTarget;

constexpr int kCount = 1 << 16;

std::vector<uint16_t> AllBits() {
  std::vector<uint16_t> all(kCount);
  for (int bits = 0; bits < kCount; ++bits) {
    all[bits] = static_cast<uint16_t>(bits);
  }
  return all;
}

// IEEE 754 binary16, by its definition.
float HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

float BFloatValue(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

struct Format {
  const char* name;
  void (*widen)(const void*, int64_t, float*);
  void (*narrow)(const float*, int64_t, void*);
  float (*value)(uint16_t);
  int infinity;  // bits of positive infinity
};
const Format kFormats[] = {
    {"half", WidenHalf, NarrowToHalf, HalfValue, 0x7c00},
    {"bfloat", WidenBFloat, NarrowToBFloat, BFloatValue, 0x7f80}};

TEST(HalfConvertTest, EveryValueSurvivesARoundTrip) {
  const std::vector<uint16_t> all = AllBits();
  ForEveryTarget([&] {
    for (const Format& format : kFormats) {
      SCOPED_TRACE(format.name);
      std::vector<float> wide(kCount);
      format.widen(all.data(), kCount, wide.data());
      std::vector<uint16_t> narrow(kCount);
      format.narrow(wide.data(), kCount, narrow.data());
      for (int bits = 0; bits < kCount; ++bits) {
        const float value = format.value(all[bits]);
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(wide[bits])) << bits;
          ASSERT_TRUE(std::isnan(format.value(narrow[bits]))) << bits;
        } else {
          ASSERT_EQ(wide[bits], value) << bits;
          ASSERT_EQ(narrow[bits], bits);
        }
      }
    }
  });
}

TEST(HalfConvertTest, NarrowingRoundsToNearestEven) {
  ForEveryTarget([] {
    for (const Format& format : kFormats) {
      SCOPED_TRACE(format.name);
      // Three floats for each pair of neighbours: just below the midpoint, the
      // midpoint and just above it.
      std::vector<float> floats;
      std::vector<int> expected;
      for (int bits = 0; bits + 1 < format.infinity; ++bits) {
        const double low = format.value(static_cast<uint16_t>(bits));
        const double high = format.value(static_cast<uint16_t>(bits + 1));
        const auto middle = static_cast<float>((low + high) / 2);
        ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
        for (const float sign : {1.0F, -1.0F}) {
          const int sign_bit = sign < 0 ? 0x8000 : 0;
          floats.push_back(sign * std::nextafter(middle, 0.0F));
          expected.push_back(sign_bit | bits);
          floats.push_back(sign * middle);
          expected.push_back(sign_bit | (bits % 2 == 0 ? bits : bits + 1));
          floats.push_back(sign * std::nextafter(middle, INFINITY));
          expected.push_back(sign_bit | (bits + 1));
        }
      }
      std::vector<uint16_t> narrow(floats.size());
      format.narrow(floats.data(), static_cast<int64_t>(floats.size()),
                    narrow.data());
      for (size_t i = 0; i < floats.size(); ++i) {
        ASSERT_EQ(narrow[i], expected[i]) << floats[i];
      }
    }
  });
}

TEST(HalfConvertTest, ConvertsAnyCountAtAnyAlignment) {
  ForEveryTarget([] {
    for (const Format& format : kFormats) {
      SCOPED_TRACE(format.name);
      for (int64_t count = 0; count < 40; ++count) {
        std::vector<float> floats(count);
        for (int64_t i = 0; i < count; ++i) floats[i] = static_cast<float>(i);
        std::vector<char> bytes(2 * count + 2, 'x');
        format.narrow(floats.data(), count, bytes.data() + 1);
        EXPECT_EQ(bytes.front(), 'x');
        EXPECT_EQ(bytes.back(), 'x');
        std::vector<float> read(count + 1, -1);
        format.widen(bytes.data() + 1, count, read.data());
        EXPECT_EQ(read.back(), -1);
        read.pop_back();
        EXPECT_EQ(read, floats);
      }
    }
  });
}

}  // namespace
}  // namespace locus
