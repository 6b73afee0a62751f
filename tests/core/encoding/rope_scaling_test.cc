// What is particular to each scaling of RoPE, beside the goldens.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/testing.h"

namespace locus {
namespace {

using testing::MustMake;

using Numbers = std::map<std::string, double>;

// Arguments of RoPE with a scaling; whole numbers where it wants such.
Arguments With(const std::string& scaling, const Numbers& numbers = {}) {
  Arguments arguments;
  arguments.Set(scaling, true);
  for (const auto& [name, value] : numbers) {
    const bool whole = name == "original_length" || name == "max_position";
    const std::string path = absl::StrCat(scaling, ".", name);
    if (whole) {
      arguments.Set(path, static_cast<int64_t>(value));
    } else {
      arguments.Set(path, value);
    }
  }
  return arguments;
}

absl::StatusOr<CompiledScheme> Compile(const Arguments& arguments,
                                       const Geometry& geometry) {
  return MustMake("rope", arguments)->Compile(geometry);
}

Rotation Turned(const Arguments& arguments, const Geometry& geometry) {
  auto compiled = Compile(arguments, geometry);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::get<Rotation>(*std::move(compiled));
}

constexpr Geometry kHead{.dim = 128, .max_position = 2047};

std::vector<double> Plain() { return Turned({}, kHead).frequencies; }

// What the transformers library publishes as the expectations of its own
// tests, in five digits: a head of 128 channels, base 10000, trained for 2048.
void ExpectPublished(const Rotation& rotation,
                     const std::map<int, double>& published) {
  for (const auto& [k, frequency] : published) {
    EXPECT_NEAR(rotation.frequencies[k], frequency, 6e-5 * frequency) << k;
  }
}

TEST(RopeScalingTest, YarnYieldsThePublishedFrequencies) {
  ExpectPublished(
      Turned(With("yarn", {{"factor", 10}, {"original_length", 2048}}), kHead),
      {{0, 1.0},
       {16, 1.0000e-01},
       {17, 8.3479e-02},
       {24, 2.2515e-02},
       {32, 4.2400e-03},
       {39, 6.2810e-04},
       {40, 4.3007e-04},
       {41, 2.7384e-04},
       {63, 1.1548e-05}});
}

TEST(RopeScalingTest, DynamicNtkYieldsThePublishedFrequencies) {
  ExpectPublished(
      Turned(With("dynamic_ntk", {{"factor", 10}, {"max_position", 2048}}),
             {.dim = 128, .max_position = 16383}),
      {{0, 1.0},
       {1, 8.0931e-01},
       {16, 3.3872e-02},
       {31, 1.4176e-03},
       {48, 3.8861e-05},
       {63, 1.6265e-06}});
}

TEST(RopeScalingTest, Llama3YieldsThePublishedFrequencies) {
  ExpectPublished(
      Turned(With("llama3", {{"factor", 10}, {"original_length", 2048}}),
             kHead),
      {{0, 1.0},
       {30, 1.3335e-02},
       {31, 1.0730e-02},
       {35, 2.8248e-03},
       {40, 3.4539e-04},
       {41, 2.7384e-04},
       {63, 1.1548e-05}});
}

TEST(RopeScalingTest, LinearDividesEveryFrequency) {
  const auto plain = Plain();
  const auto scaled = Turned(With("linear", {{"factor", 4}}), kHead);
  EXPECT_EQ(scaled.attention_factor, 1);
  for (size_t k = 0; k < plain.size(); ++k) {
    EXPECT_EQ(scaled.frequencies[k], plain[k] / 4);
  }
}

TEST(RopeScalingTest, NtkKeepsTheFirstPairAndSlowsTheLastByTheFactor) {
  const auto plain = Plain();
  const auto scaled = Turned(With("ntk", {{"factor", 8}}), kHead).frequencies;
  EXPECT_EQ(scaled.front(), plain.front());
  EXPECT_NEAR(scaled.back(), plain.back() / 8, 1e-15 * plain.back());
}

TEST(RopeScalingTest, NtkOfOnePairIsRefused) {
  for (const char* const scaling : {"ntk", "dynamic_ntk"}) {
    EXPECT_EQ(FieldOf(Compile(With(scaling), {.dim = 2}).status()),
              absl::StrCat("scheme.rope.", scaling, ".factor"));
    EXPECT_TRUE(Compile(With(scaling), {.dim = 4}).ok());
  }
}

TEST(RopeScalingTest, DynamicNtkChangesNothingUpToItsMaximum) {
  const Arguments dynamic =
      With("dynamic_ntk", {{"factor", 10}, {"max_position", 2048}});
  EXPECT_EQ(Turned(dynamic, {.dim = 128, .max_position = 0}).frequencies,
            Plain());
  EXPECT_EQ(Turned(dynamic, {.dim = 128, .max_position = 2047}).frequencies,
            Plain());
  EXPECT_NE(Turned(dynamic, {.dim = 128, .max_position = 2048}).frequencies,
            Plain());
}

TEST(RopeScalingTest, DynamicNtkDependsOnTheRequestAlone) {
  const auto scheme = MustMake("rope", With("dynamic_ntk", {{"factor", 4}}));
  const auto compile = [&](int64_t max_position) {
    return std::get<Rotation>(
               *scheme->Compile({.dim = 16, .max_position = max_position}))
        .frequencies;
  };
  const auto before = compile(100);
  EXPECT_NE(compile(100000), before);
  EXPECT_EQ(compile(100), before);
}

TEST(RopeScalingTest, YarnsAttentionFactorFollowsItsRules) {
  const auto factor = [](const Numbers& numbers) {
    return Turned(With("yarn", numbers), kHead).attention_factor;
  };
  const double paper = 0.1 * std::log(40.0) + 1;
  EXPECT_EQ(factor({{"factor", 40}}), paper);
  EXPECT_EQ(factor({{"factor", 1}}), 1);
  EXPECT_EQ(factor({{"factor", 0.5}}), 1);
  EXPECT_EQ(factor({{"factor", 40}, {"attention_factor", 0.5}}), 0.5);
  // Both of DeepSeek's: they cancel.
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 1}, {"mscale_all_dim", 1}}), 1);
  EXPECT_NEAR(factor({{"factor", 40}, {"mscale", 1}, {"mscale_all_dim", 0.5}}),
              paper / (0.05 * std::log(40.0) + 1), 1e-15);
  // One alone counts for nothing, and neither does a zero.
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 0.5}}), paper);
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 0.5}, {"mscale_all_dim", 0}}),
            paper);
}

TEST(RopeScalingTest, AttentionFactorMultipliesLogitsByItsSquare) {
  const Arguments yarn = With("yarn", {{"attention_factor", 1.5}});
  const auto turned = Turned(yarn, {.dim = 8});
  std::vector<double> cos(4), sin(4), row = {1, 2, 3, 4, 5, 6, 7, 8};
  double before = 0, after = 0;
  for (const double value : row) before += value * value;
  turned.Angles(77, cos.data(), sin.data());
  turned.Apply(cos.data(), sin.data(), row.data());
  for (const double value : row) after += value * value;
  EXPECT_NEAR(after, 1.5 * 1.5 * before, 1e-12 * after);
}

TEST(RopeScalingTest, YarnWithoutTruncationHasAFinerRamp) {
  Arguments yarn = With("yarn", {{"factor", 4}});
  const auto rounded = Turned(yarn, kHead).frequencies;
  yarn.Set("yarn.truncate", false);
  const auto finer = Turned(yarn, kHead).frequencies;
  EXPECT_NE(rounded, finer);
  EXPECT_EQ(rounded.front(), finer.front());
  EXPECT_EQ(rounded.back(), finer.back());
}

TEST(RopeScalingTest, YarnsRampOfNoLengthIsAStep) {
  // Both ends fall on pair 0.
  const auto scaled =
      Turned(With("yarn", {{"factor", 4}, {"original_length", 6}}), kHead);
  const auto plain = Plain();
  for (size_t k = 1; k < plain.size(); ++k) {
    EXPECT_DOUBLE_EQ(scaled.frequencies[k], plain[k] / 4);
  }
}

TEST(RopeScalingTest, YarnNeedsABaseAboveOne) {
  Arguments yarn = With("yarn");
  yarn.Set("base", 1.0);
  EXPECT_EQ(FieldOf(Compile(yarn, {.dim = 8}).status()),
            "scheme.rope.yarn.factor");
}

Arguments LongRope(double factor, int64_t original_length) {
  Arguments arguments = With("longrope", {{"factor", factor}});
  arguments.Set("longrope.original_length", original_length);
  arguments.Set("longrope.short_factors", std::vector<double>{2, 2});
  arguments.Set("longrope.long_factors", std::vector<double>{1, 8});
  return arguments;
}

TEST(RopeScalingTest, LongRopeTakesTheLongFactorsPastTheOriginalLength) {
  const Arguments arguments = LongRope(1, 100);
  EXPECT_THAT(Turned(arguments, {.dim = 4, .max_position = 99}).frequencies,
              ::testing::ElementsAre(0.5, 0.01 / 2));
  EXPECT_THAT(Turned(arguments, {.dim = 4, .max_position = 100}).frequencies,
              ::testing::ElementsAre(1, 0.01 / 8));
}

TEST(RopeScalingTest, LongRopesAttentionFactorHoldsForShortCallsToo) {
  const double rule = std::sqrt(1 + std::log(32.0) / std::log(4096.0));
  const Arguments arguments = LongRope(32, 4096);
  EXPECT_EQ(Turned(arguments, {.dim = 4, .max_position = 3}).attention_factor,
            rule);
  EXPECT_EQ(
      Turned(arguments, {.dim = 4, .max_position = 5000}).attention_factor,
      rule);
  EXPECT_EQ(Turned(LongRope(1, 4096), {.dim = 4}).attention_factor, 1);
}

TEST(RopeScalingTest, LongRopeWantsAFactorForEachPair) {
  EXPECT_EQ(FieldOf(Compile(LongRope(1, 100), {.dim = 8}).status()),
            "scheme.rope.longrope.short_factors");
  EXPECT_EQ(MustMake("rope", LongRope(1, 100))->dim(), 4);
}

TEST(RopeScalingTest, ProportionalHasTheHeadInItsExponent) {
  const auto scaled = Turned(
      With("proportional", {{"share", 0.25}, {"factor", 2}}), {.dim = 16});
  ASSERT_EQ(scaled.pair_count(), 8);
  EXPECT_EQ(scaled.frequencies[0], 0.5);
  EXPECT_EQ(scaled.frequencies[1], std::pow(10000.0, -2.0 / 16) / 2);
  for (int k = 2; k < 8; ++k) EXPECT_EQ(scaled.frequencies[k], 0);
}

TEST(RopeScalingTest, ProportionalAndRotaryDimExcludeEachOther) {
  Arguments arguments = With("proportional");
  arguments.Set("rotary_dim", int64_t{8});
  EXPECT_EQ(FieldOf(MakeScheme(*FindScheme("rope"), arguments).status()),
            "rope.rotary_dim");
}

TEST(RopeScalingTest, TwoScalingsExcludeEachOther) {
  Arguments arguments = With("linear");
  arguments.Set("yarn", true);
  EXPECT_EQ(FieldOf(MakeScheme(*FindScheme("rope"), arguments).status()),
            "rope.yarn");
}

TEST(RopeScalingTest, RotaryDimStandsInTheExponentOfScaledPairsToo) {
  Arguments arguments = With("linear", {{"factor", 2}});
  arguments.Set("rotary_dim", int64_t{4});
  EXPECT_THAT(Turned(arguments, {.dim = 64}).frequencies,
              ::testing::ElementsAre(0.5, 0.01 / 2));
}

}  // namespace
}  // namespace locus
