// Sandwich: formula, caching, and bounds for the attention kernel.
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::BiasOf;
using testing::MustMake;
using testing::With;

TEST(SandwichTest, MatchesTheInnerProductOfTwoCodes) {
  const auto bias = BiasOf(*MustMake("sandwich"), 4);
  for (const int64_t distance : {0, 1, 77, 4000}) {
    double sum = -64;
    for (int k = 1; k <= 64; ++k) {
      sum += std::cos(static_cast<double>(distance) *
                      std::pow(10000.0, -2.0 * k / 128));
    }
    for (int h = 1; h <= 4; ++h) {
      EXPECT_NEAR(bias->At(h - 1, distance, 0), sum * 4 / (8.0 * h), 1e-10);
    }
  }
}

TEST(SandwichTest, CachedAndUncachedDistancesAgree) {
  const auto cached = BiasOf(*MustMake("sandwich"), 2, 5000);
  const auto uncached = BiasOf(*MustMake("sandwich"), 2, 0);
  for (const int64_t distance : {1, 63, 64, 65, 5000}) {
    EXPECT_NEAR(uncached->At(1, distance, 0), cached->At(1, distance, 0),
                1e-12);
  }
}

TEST(SandwichTest, SteepnessIsAnUpperBound) {
  const auto bias = BiasOf(*MustMake("sandwich"), 16, 999);
  EXPECT_EQ(bias->Steepness(0), 0);
  for (int64_t n = 1; n < 1000; ++n) {
    EXPECT_LE(std::abs(bias->At(0, n, 0) - bias->At(0, n - 1, 0)),
              bias->Steepness(n));
    EXPECT_LE(bias->At(0, n, 0), bias->At(0, 0, 0));
  }
}

TEST(SandwichTest, RejectsOddWidths) {
  EXPECT_EQ(
      FieldOf(MakeScheme(*FindScheme("sandwich"), With("width", int64_t{7}))
                  .status()),
      "sandwich.width");
}

}  // namespace
}  // namespace locus
