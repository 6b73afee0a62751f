// RoPE: relative scores, layouts, and precision of the angles.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Attend;
using testing::Difference;
using testing::Dot;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::MustMake;
using testing::Values;
using testing::With;

Rotation CompileRope(Arguments arguments, int64_t dim) {
  return std::get<Rotation>(
      *MustMake("rope", std::move(arguments))->Compile({.dim = dim}));
}

std::vector<double> Rotate(const Rotation& rotation, int64_t position,
                           std::vector<double> row) {
  std::vector<double> cos(rotation.pair_count()), sin(rotation.pair_count());
  rotation.Angles(position, cos.data(), sin.data());
  rotation.Apply(cos.data(), sin.data(), row.data());
  return row;
}

std::vector<double> RandomRow(int64_t dim, absl::string_view purpose) {
  std::vector<double> row(dim);
  RandomStream(3, purpose).FillNormal(1, absl::MakeSpan(row));
  return row;
}

TEST(RopeTest, ScoresDependOnTheDistanceAlone) {
  for (const char* layout : {"INTERLEAVED", "HALF_SPLIT"}) {
    const Rotation rope = CompileRope(With("layout", std::string(layout)), 16);
    const auto q = RandomRow(16, "q");
    const auto k = RandomRow(16, "k");
    const std::pair<int64_t, int64_t> pairs[] = {
        {0, 1}, {3, 7}, {5, 5}, {10, 12}, {20, 8}};
    for (const auto& [m, n] : pairs) {
      EXPECT_NEAR(Dot(Rotate(rope, m, q), Rotate(rope, n, k)),
                  Dot(Rotate(rope, m + 1000, q), Rotate(rope, n + 1000, k)),
                  1e-10);
    }
  }
}

TEST(RopeTest, PreservesNorms) {
  const auto q = RandomRow(16, "q");
  const auto rotated = Rotate(CompileRope({}, 16), 12345, q);
  EXPECT_NEAR(Dot(rotated, rotated), Dot(q, q), 1e-12);
}

TEST(RopeTest, LayoutsDifferByAPermutationOfChannels) {
  const auto q = RandomRow(8, "q");
  std::vector<double> split(8);
  for (int64_t k = 0; k < 4; ++k) {
    split[k] = q[2 * k];
    split[k + 4] = q[2 * k + 1];
  }
  const auto interleaved = Rotate(CompileRope({}, 8), 9, q);
  const auto half_split = Rotate(
      CompileRope(With("layout", std::string("HALF_SPLIT")), 8), 9, split);
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_EQ(half_split[k], interleaved[2 * k]);
    EXPECT_EQ(half_split[k + 4], interleaved[2 * k + 1]);
  }
}

TEST(RopeTest, PartialRotationCopiesTheRemainingChannels) {
  const Rotation rope = CompileRope(With("rotary_dim", int64_t{4}), 10);
  EXPECT_THAT(rope.frequencies, ElementsAre(1, DoubleNear(0.01, 1e-16)));
  const auto q = RandomRow(10, "q");
  const auto rotated = Rotate(rope, 5, q);
  EXPECT_EQ(std::vector<double>(rotated.begin() + 4, rotated.end()),
            std::vector<double>(q.begin() + 4, q.end()));
  EXPECT_NE(rotated[0], q[0]);
}

TEST(RopeTest, RejectsInvalidRotaryDimensions) {
  for (const auto& [rotary, dim] :
       {std::pair<int64_t, int64_t>{3, 8}, {10, 8}, {0, 7}}) {
    const auto scheme = rotary == 0
                            ? MustMake("rope")
                            : MustMake("rope", With("rotary_dim", rotary));
    EXPECT_EQ(FieldOf(scheme->Compile({.dim = dim}).status()),
              "scheme.rope.rotary_dim");
  }
}

TEST(RopeTest, AnglesAreAccurateAtLargePositions) {
  // Angles computed in single precision would be off by 1.6e-2 at position 1e6.
  const Rotation rope = CompileRope({}, 64);
  std::vector<float> cos(32), sin(32);
  for (const int64_t position : {int64_t{1000000}, int64_t{1} << 31}) {
    rope.Angles(position, cos.data(), sin.data());
    for (int64_t k = 0; k < 32; ++k) {
      const long double angle =
          static_cast<long double>(position) *
          std::pow(10000.0L, -2.0L * static_cast<long double>(k) / 64);
      EXPECT_NEAR(cos[k], static_cast<double>(std::cos(angle)), 2e-6);
      EXPECT_NEAR(sin[k], static_cast<double>(std::sin(angle)), 2e-6);
    }
  }
}

TEST(RopeTest, AngleRowsDoNotDependOnTheDivisionIntoCalls) {
  const Rotation rope = CompileRope({}, 22);
  constexpr int64_t kCount = 100;
  const int64_t pairs = rope.pair_count();
  for (const auto& positions :
       {*Positions::Range(999983, kCount), *Positions::Range(0, kCount)}) {
    std::vector<float> cos(kCount * pairs), sin(kCount * pairs);
    rope.AngleRows(positions, 0, kCount, cos.data(), sin.data());
    for (const int64_t piece : {1, 7, 32, 64}) {
      std::vector<float> c(kCount * pairs), s(kCount * pairs);
      for (int64_t i = 0; i < kCount; i += piece) {
        rope.AngleRows(positions, i, std::min(piece, kCount - i), &c[i * pairs],
                       &s[i * pairs]);
      }
      EXPECT_EQ(c, cos) << piece;
      EXPECT_EQ(s, sin) << piece;
    }
  }
}

TEST(RopeTest, Float32AnglesHaveTheErrorsOfFrameworks) {
  const Geometry far{.dim = 128, .max_position = 1000000};
  const auto exact = std::get<Rotation>(*MustMake("rope")->Compile(far));
  const auto single = std::get<Rotation>(
      *MustMake("rope", With("angles", std::string("FLOAT32")))->Compile(far));
  std::vector<float> cos(64), sin(64), exact_cos(64), exact_sin(64);
  single.Angles(1000000, cos.data(), sin.data());
  exact.Angles(1000000, exact_cos.data(), exact_sin.data());
  double max_error = 0;
  for (int k = 0; k < 64; ++k) {
    // The computation of a framework, with functions of the C library.
    const float frequency =
        1.0F / std::pow(10000.0F, static_cast<float>(2 * k) / 128.0F);
    EXPECT_EQ(single.frequencies[k], frequency);
    const float angle = 1000000.0F * frequency;
    EXPECT_NEAR(cos[k], std::cos(angle), 1.2e-7);
    EXPECT_NEAR(sin[k], std::sin(angle), 1.2e-7);
    max_error = std::max<double>(max_error, std::abs(cos[k] - exact_cos[k]));
  }
  // The error comes from rounding an angle of about 2^19, and from rounding the
  // power, its exponent and its inverse.
  EXPECT_GT(max_error, 1e-3);
  EXPECT_LT(max_error, 0.2);
}

TEST(RopeTest, Float32AnglesAgreeAtSmallPositions) {
  const auto rope = MustMake("rope", With("angles", std::string("FLOAT32")));
  EXPECT_LT(Difference(
                Values(Attend(*rope, 40, DType::kFloat32)->output),
                Values(Attend(*MustMake("rope"), 40, DType::kFloat32)->output)),
            2e-5);
}

}  // namespace
}  // namespace locus
