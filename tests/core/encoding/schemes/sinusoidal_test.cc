// Sinusoidal code: layouts, norms and shifts.
#include <cmath>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::CodeRow;
using testing::Dot;
using ::testing::DoubleNear;
using testing::MustMake;
using ::testing::Pointwise;
using testing::With;

TEST(SinusoidalTest, MatchesWorkedExerciseOfWidthFour) {
  const auto scheme = MustMake("sinusoidal");
  const auto row = [&](int64_t p) { return CodeRow(*scheme, p, 4); };
  EXPECT_NEAR(Dot(row(0), row(1)), 1.5402523, 5e-8);
  EXPECT_NEAR(Dot(row(5), row(6)), 1.5402523, 5e-8);
  EXPECT_NEAR(Dot(row(0), row(5)), 1.2824124, 5e-8);
}

TEST(SinusoidalTest, ShiftIsARotationIndependentOfThePosition) {
  // PE(p + 7) = M PE(p), where M rotates each pair.
  const auto scheme = MustMake("sinusoidal");
  for (const int64_t p : {0, 3, 1000}) {
    const auto from = CodeRow(*scheme, p, 8);
    const auto to = CodeRow(*scheme, p + 7, 8);
    for (int64_t k = 0; k < 4; ++k) {
      const double angle = 7 * std::pow(10000.0, -2.0 * k / 8);
      EXPECT_NEAR(
          to[2 * k],
          from[2 * k] * std::cos(angle) + from[2 * k + 1] * std::sin(angle),
          1e-12);
    }
  }
}

TEST(SinusoidalTest, SquaredNormIsHalfTheWidth) {
  const auto row = CodeRow(*MustMake("sinusoidal"), 12345, 32);
  EXPECT_NEAR(Dot(row, row), 16, 1e-12);
}

TEST(SinusoidalTest, OddWidthHasOneMoreSineThanCosines) {
  const double slow = std::pow(10000.0, -4.0 / 5);
  const double middle = std::pow(10000.0, -2.0 / 5);
  EXPECT_THAT(CodeRow(*MustMake("sinusoidal"), 3, 5),
              Pointwise(DoubleNear(1e-15),
                        {std::sin(3.0), std::cos(3.0), std::sin(3 * middle),
                         std::cos(3 * middle), std::sin(3 * slow)}));
  EXPECT_THAT(
      CodeRow(*MustMake("sinusoidal", With("layout", std::string("HALVES"))), 3,
              5),
      Pointwise(DoubleNear(1e-15),
                {std::sin(3.0), std::sin(3 * middle), std::sin(3 * slow),
                 std::cos(3.0), std::cos(3 * middle)}));
}

TEST(SinusoidalTest, Tensor2TensorEndsAtTheBaseAndZeroesTheOddColumn) {
  const auto scheme =
      MustMake("sinusoidal", With("layout", std::string("TENSOR2TENSOR")));
  EXPECT_THAT(
      CodeRow(*scheme, 3, 5),
      Pointwise(DoubleNear(1e-15), {std::sin(3.0), std::sin(3e-4),
                                    std::cos(3.0), std::cos(3e-4), 0.0}));
  EXPECT_EQ(FieldOf(scheme->Compile({.dim = 2}).status()),
            "scheme.sinusoidal.layout");
}

}  // namespace
}  // namespace locus
