// Each scheme's own facts, from its paper.
#include <cmath>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MustMake;
using ::testing::Pointwise;

Arguments With(absl::string_view name, Arguments::Value value) {
  Arguments arguments;
  arguments.Set(name, std::move(value));
  return arguments;
}

std::vector<double> CodeRow(const Scheme& scheme, int64_t position, int64_t dim,
                            int64_t max_position = -1) {
  const auto compiled = scheme.Compile(
      {.dim = dim, .max_position = std::max(position, max_position)});
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  std::vector<double> row(dim, 99.0);
  std::get<std::unique_ptr<AdditiveCode>>(*compiled)->Row(position,
                                                          absl::MakeSpan(row));
  return row;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// --- Sinusoidal ------------------------------------------------------------

TEST(SinusoidalTest, WorkedExerciseOfWidthFour) {
  const auto scheme = MustMake("sinusoidal");
  const auto row = [&](int64_t p) { return CodeRow(*scheme, p, 4); };
  EXPECT_NEAR(Dot(row(0), row(1)), 1.5402523, 5e-8);
  EXPECT_NEAR(Dot(row(5), row(6)), 1.5402523, 5e-8);
  EXPECT_NEAR(Dot(row(0), row(5)), 1.2824124, 5e-8);
}

TEST(SinusoidalTest, ShiftIsAFixedRotation) {
  // PE(p + 7) = M PE(p), with one rotation for each pair.
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

TEST(SinusoidalTest, OddWidthHasOneSineMore) {
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

TEST(SinusoidalTest, Tensor2TensorEndsAtTheBaseAndLeavesOddColumnZero) {
  const auto scheme =
      MustMake("sinusoidal", With("layout", std::string("TENSOR2TENSOR")));
  EXPECT_THAT(
      CodeRow(*scheme, 3, 5),
      Pointwise(DoubleNear(1e-15), {std::sin(3.0), std::sin(3e-4),
                                    std::cos(3.0), std::cos(3e-4), 0.0}));
  EXPECT_EQ(FieldOf(scheme->Compile({.dim = 2}).status()),
            "scheme.sinusoidal.layout");
}

// --- Learned ---------------------------------------------------------------

const Tensor& SmallTable() {
  static const auto* const table =
      new Tensor(MakeTensor(DType::kFloat64, {3, 2}, {0, 1, 10, 11, 20, 21}));
  return *table;
}

std::unique_ptr<Scheme> LearnedWith(absl::string_view policy) {
  Arguments arguments;
  arguments.Set("table", SmallTable().view());
  arguments.Set("policy", std::string(policy));
  return MustMake("learned", arguments);
}

TEST(LearnedTest, PoliciesPastTheTable) {
  EXPECT_THAT(CodeRow(*LearnedWith("CLAMP"), 7, 2), ElementsAre(20, 21));
  EXPECT_THAT(CodeRow(*LearnedWith("WRAP"), 7, 2), ElementsAre(10, 11));
  EXPECT_THAT(CodeRow(*LearnedWith("ZERO"), 7, 2), ElementsAre(0, 0));
  for (const char* policy :
       {"CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE", "ERROR"}) {
    EXPECT_THAT(CodeRow(*LearnedWith(policy), 2, 2), ElementsAre(20, 21));
  }
}

TEST(LearnedTest, ErrorPolicySaysWhatWouldHelp) {
  const absl::Status status =
      LearnedWith("ERROR")->Compile({.dim = 2, .max_position = 3}).status();
  EXPECT_EQ(FieldOf(status), "scheme.learned.policy");
  EXPECT_THAT(std::string(status.message()), HasSubstr("position 3"));
}

TEST(LearnedTest, RandomRowsAreFreshAndRepeatable) {
  const auto scheme = LearnedWith("RANDOM");
  const auto row = CodeRow(*scheme, 7, 2);
  EXPECT_EQ(row, CodeRow(*scheme, 7, 2, 1000));
  EXPECT_NE(row, CodeRow(*scheme, 8, 2));
}

TEST(LearnedTest, InterpolationHasHalfPixelCentres) {
  // Three rows stretched over six positions: p reads (p + 1/2) / 2 - 1/2.
  const auto scheme = LearnedWith("INTERPOLATE");
  EXPECT_THAT(CodeRow(*scheme, 0, 2, 5), ElementsAre(0, 1));  // clamped
  EXPECT_THAT(CodeRow(*scheme, 1, 2, 5), ElementsAre(2.5, 3.5));
  EXPECT_THAT(CodeRow(*scheme, 4, 2, 5), ElementsAre(17.5, 18.5));
  EXPECT_THAT(CodeRow(*scheme, 5, 2, 5), ElementsAre(20, 21));
}

TEST(LearnedTest, SeededRowsDoNotDependOnTheLength) {
  Arguments arguments;
  arguments.Set("seed", uint64_t{5});
  arguments.Set("max_length", int64_t{10});
  const auto row = CodeRow(*MustMake("learned", arguments), 4, 8);
  arguments.Set("max_length", int64_t{1} << 50);
  EXPECT_EQ(row, CodeRow(*MustMake("learned", arguments), 4, 8));
  arguments.Set("seed", uint64_t{6});
  EXPECT_NE(row, CodeRow(*MustMake("learned", arguments), 4, 8));
}

TEST(LearnedTest, AMaximumBesideATableIsItsLength) {
  const Tensor table = MakeTensor(DType::kFloat32, {3, 1}, {1, 2, 3});
  Arguments arguments;
  arguments.Set("table", table.view());
  arguments.Set("max_length", int64_t{3});
  EXPECT_THAT(CodeRow(*MustMake("learned", arguments), 2, 1), ElementsAre(3));
  arguments.Set("max_length", int64_t{4});
  EXPECT_EQ(FieldOf(MakeScheme(*FindScheme("learned"), arguments).status()),
            "learned.max_length");
}

TEST(LearnedTest, WidthMustFitTheTable) {
  EXPECT_EQ(FieldOf(LearnedWith("CLAMP")->Compile({.dim = 3}).status()),
            "scheme.learned.table.shape");
}

// --- RoPE ------------------------------------------------------------------

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

TEST(RopeTest, ScoreDependsOnTheDistanceAlone) {
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

TEST(RopeTest, RotationPreservesNorm) {
  const auto q = RandomRow(16, "q");
  const auto turned = Rotate(CompileRope({}, 16), 12345, q);
  EXPECT_NEAR(Dot(turned, turned), Dot(q, q), 1e-12);
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

TEST(RopeTest, PartialRotaryCopiesTheTailAndPutsRIntoTheExponent) {
  const Rotation rope = CompileRope(With("rotary_dim", int64_t{4}), 10);
  EXPECT_THAT(rope.frequencies, ElementsAre(1, DoubleNear(0.01, 1e-16)));
  const auto q = RandomRow(10, "q");
  const auto turned = Rotate(rope, 5, q);
  EXPECT_EQ(std::vector<double>(turned.begin() + 4, turned.end()),
            std::vector<double>(q.begin() + 4, q.end()));
  EXPECT_NE(turned[0], q[0]);
}

TEST(RopeTest, OddRotaryDimensionIsRefused) {
  for (const auto& [rotary, dim] :
       {std::pair<int64_t, int64_t>{3, 8}, {10, 8}, {0, 7}}) {
    const auto scheme = rotary == 0
                            ? MustMake("rope")
                            : MustMake("rope", With("rotary_dim", rotary));
    EXPECT_EQ(FieldOf(scheme->Compile({.dim = dim}).status()),
              "scheme.rope.rotary_dim");
  }
}

TEST(RopeTest, AnglesAreRightFarOut) {
  // Within single precision of double at a million and beyond; angles taken in
  // single precision would be off by 1.6e-2 there.
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

TEST(RopeTest, RowsOfAnglesDoNotDependOnHowTheyAreAskedFor) {
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

// --- ALiBi -----------------------------------------------------------------

std::vector<double> Slopes(Arguments arguments, int64_t head_count) {
  const auto compiled = MustMake("alibi", std::move(arguments))
                            ->Compile({.head_count = head_count});
  return std::get<std::unique_ptr<ScoreBias>>(*compiled)->slopes();
}

TEST(AlibiTest, EightHeadsHaveTheSlopesOfThePaper) {
  EXPECT_THAT(Slopes({}, 8), ElementsAre(0.5, 0.25, 0.125, 0.0625, 0.03125,
                                         0.015625, 0.0078125, 0.00390625));
  EXPECT_EQ(Slopes({}, 8), Slopes(With("rule", std::string("COURSE")), 8));
}

TEST(AlibiTest, OtherHeadCountsTakeEverySecondOfTheNextPower) {
  EXPECT_THAT(Slopes({}, 3), ElementsAre(0.0625, 0.00390625, 0.25));
  EXPECT_EQ(Slopes({}, 12).size(), 12u);
  EXPECT_DOUBLE_EQ(Slopes({}, 12)[8], std::exp2(-0.5));
  EXPECT_DOUBLE_EQ(Slopes({}, 12)[11], std::exp2(-3.5));
}

TEST(AlibiTest, CourseRuleHalvesFromHeadToHead) {
  EXPECT_THAT(Slopes(With("rule", std::string("COURSE")), 3),
              ElementsAre(0.5, 0.25, 0.125));
}

TEST(AlibiTest, GivenSlopesMustFitTheHeads) {
  const auto scheme =
      MustMake("alibi", With("slopes", std::vector<double>{1, 2, 3}));
  EXPECT_EQ(scheme->head_count(), 3);
  EXPECT_EQ(FieldOf(scheme->Compile({.head_count = 4}).status()),
            "scheme.alibi.slopes");
}

// --- T5 --------------------------------------------------------------------

// The distances at which the bucket changes, up to 200.
std::vector<int64_t> Edges(bool bidirectional, int64_t sign) {
  std::vector<double> table(32);
  std::iota(table.begin(), table.end(), 0.0);
  const Tensor tensor = MakeTensor(DType::kFloat64, {32, 1}, table);
  Arguments arguments;
  arguments.Set("table", tensor.view());
  arguments.Set("bidirectional", bidirectional);
  const auto compiled =
      MustMake("t5_bias", arguments)->Compile({.head_count = 1});
  const auto& bias = *std::get<std::unique_ptr<ScoreBias>>(*compiled);
  std::vector<int64_t> edges;
  for (int64_t n = 1; n < 200; ++n) {
    if (bias.At(0, 500, 500 - sign * n) !=
        bias.At(0, 500, 500 - sign * (n - 1))) {
      edges.push_back(n);
    }
  }
  return edges;
}

TEST(T5BiasTest, BucketsChangeWhereTheyShould) {
  const std::vector<int64_t> bidirectional = {1,  2,  3,  4,  5,  6,  7, 8,
                                              12, 16, 23, 32, 46, 64, 91};
  EXPECT_EQ(Edges(true, 1), bidirectional);
  EXPECT_EQ(Edges(true, -1), bidirectional);
  EXPECT_EQ(Edges(false, 1),
            (std::vector<int64_t>{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                  12, 13, 14, 15, 16, 19, 21, 24, 27, 31, 35,
                                  40, 46, 52, 59, 67, 77, 87, 99, 113}));
  EXPECT_EQ(Edges(false, -1), std::vector<int64_t>());
}

TEST(T5BiasTest, ShapesThatMakeNoBucketsAreRefused) {
  const auto refuse = [](int64_t buckets, int64_t max_distance, bool both) {
    Arguments arguments;
    arguments.Set("bucket_count", buckets);
    arguments.Set("max_distance", max_distance);
    arguments.Set("bidirectional", both);
    return FieldOf(MakeScheme(*FindScheme("t5_bias"), arguments).status());
  };
  EXPECT_EQ(refuse(1, 128, false), "t5_bias.bucket_count");
  EXPECT_EQ(refuse(2, 128, true), "t5_bias.bucket_count");
  EXPECT_EQ(refuse(31, 128, true), "t5_bias.bucket_count");
  EXPECT_EQ(refuse(32, 16, false), "t5_bias.max_distance");
  EXPECT_EQ(refuse(32, 17, false), "");
}

TEST(T5BiasTest, DrawingIsBounded) {
  Arguments arguments = With("bucket_count", int64_t{2048});
  arguments.Set("max_distance", int64_t{100000});
  const auto scheme = MustMake("t5_bias", arguments);
  EXPECT_EQ(FieldOf(scheme->Compile({.head_count = 513}).status()),
            "scheme.t5_bias.bucket_count");
  EXPECT_EQ(LimitOf(scheme->Compile({.head_count = 513}).status()),
            "max_drawn_biases");
}

// --- All of them -----------------------------------------------------------

TEST(ArgumentsTest, RangesAndKindsAreChecked) {
  const auto refuse = [](absl::string_view scheme, Arguments arguments) {
    return FieldOf(
        MakeScheme(*FindScheme(scheme), std::move(arguments)).status());
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const double base : {0.0, -1.0, inf, -inf, std::nan("")}) {
    EXPECT_EQ(refuse("rope", With("base", base)), "rope.base") << base;
    EXPECT_EQ(refuse("sinusoidal", With("base", base)), "sinusoidal.base");
  }
  EXPECT_EQ(refuse("rope", With("base", int64_t{5})), "rope.base");
  EXPECT_EQ(refuse("rope", With("layout", std::string("SIDEWAYS"))),
            "rope.layout");
  EXPECT_EQ(refuse("rope", With("colour", 1.0)), "rope.colour");
  EXPECT_EQ(refuse("alibi", With("slopes", std::vector<double>{1, inf})),
            "alibi.slopes[1]");
  EXPECT_EQ(refuse("learned", With("max_length", int64_t{0})),
            "learned.max_length");
  const Tensor flags = Tensor::Zeros(DType::kBool, {2, 2});
  EXPECT_EQ(refuse("learned", With("table", flags.view())),
            "learned.table.dtype");
}

}  // namespace
}  // namespace locus
