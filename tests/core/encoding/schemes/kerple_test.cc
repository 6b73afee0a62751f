// KERPLE: both kernels, ranges, and bounds for the attention kernel.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::BiasOf;
using testing::MustMake;
using testing::With;

Arguments Kerple(const std::string& kernel, std::vector<double> p,
                 std::vector<double> a) {
  return With("kernel", kernel, With("p", p, With("a", a)));
}

TEST(KerpleTest, MatchesBothFormulas) {
  const auto log =
      BiasOf(*MustMake("kerple", Kerple("LOG", {0.5, 3}, {0.1, 2})), 2);
  EXPECT_DOUBLE_EQ(log->At(0, 10, 3), -0.5 * std::log(1 + 0.1 * 7));
  EXPECT_DOUBLE_EQ(log->At(1, 10, 3), -3 * std::log(1 + 2.0 * 7));
  const auto power =
      BiasOf(*MustMake("kerple", Kerple("POWER", {0.5, 2}, {0.1, 2})), 2);
  EXPECT_DOUBLE_EQ(power->At(0, 10, 3), -0.1 * std::sqrt(7.0));
  EXPECT_DOUBLE_EQ(power->At(1, 10, 3), -2.0 * 49);
  EXPECT_EQ(power->At(1, 3, 3), 0);
}

TEST(KerpleTest, RejectsNumbersOutOfRange) {
  const auto field = [](const Arguments& arguments) {
    return FieldOf(MakeScheme(*FindScheme("kerple"), arguments).status());
  };
  EXPECT_EQ(field(Kerple("LOG", {0.001}, {1})), "kerple.p[0]");
  EXPECT_EQ(field(Kerple("LOG", {1, 1}, {1, 0})), "kerple.a[1]");
  EXPECT_EQ(field(Kerple("POWER", {2.5}, {1})), "kerple.p[0]");
  EXPECT_EQ(field(Kerple("LOG", {2.5}, {1})), "");
  EXPECT_EQ(field(Kerple("LOG", {1, 1}, {1})), "kerple.a");
  EXPECT_EQ(FieldOf(MustMake("kerple", Kerple("LOG", {1}, {1}))
                        ->Compile({.head_count = 2})
                        .status()),
            "scheme.kerple.p");
}

TEST(KerpleTest, LogTailIsAnUpperBound) {
  for (const char* const kernel : {"LOG", "POWER"}) {
    const std::vector<double> p = {0.5, 1.0, 1.5, 2.0};
    const std::vector<double> a = {0.02, 0.1, 0.5, 2.0};
    const auto bias = BiasOf(*MustMake("kerple", Kerple(kernel, p, a)), 4);
    for (int64_t h = 0; h < 4; ++h) {
      for (const int64_t offset : {1, 5, 100}) {
        for (const int64_t count : {1, 10, 3000}) {
          double sum = 0;
          for (int64_t n = 0; n < count; ++n) {
            sum += std::exp(bias->At(h, offset + n, 0));
          }
          EXPECT_GE(bias->LogTail(h, offset, count), std::log(sum) - 1e-12)
              << kernel << " " << h << " " << offset << " " << count;
        }
      }
    }
  }
}

TEST(KerpleTest, SteepnessIsAnUpperBound) {
  for (const char* const kernel : {"LOG", "POWER"}) {
    const auto bias =
        BiasOf(*MustMake("kerple", With("kernel", std::string(kernel))), 8, 99);
    for (int64_t h = 0; h < 8; ++h) {
      for (int64_t n = 1; n < 100; ++n) {
        EXPECT_LE(bias->At(h, n - 1, 0) - bias->At(h, n, 0),
                  bias->Steepness(n) * (1 + 1e-12));
      }
    }
    EXPECT_EQ(bias->Steepness(0), 0);
  }
}

TEST(KerpleTest, BidirectionalCallsNeedTheSymmetricParameter) {
  const auto bias = BiasOf(*MustMake("kerple"), 2);
  EXPECT_TRUE(bias->is_causal());
  EXPECT_EQ(bias->causal_parameter(), "symmetric");
  const auto symmetric =
      BiasOf(*MustMake("kerple", With("symmetric", true)), 2);
  EXPECT_FALSE(symmetric->is_causal());
  EXPECT_EQ(symmetric->At(0, 3, 10), symmetric->At(0, 10, 3));
}

}  // namespace
}  // namespace locus
