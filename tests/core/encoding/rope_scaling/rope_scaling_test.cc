// RoPE scalings: published frequencies, attention factors, and rejected
// parameters. tests/golden compares complete tables.
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::MustMake;

using Numbers = std::map<std::string, double>;

// Arguments of RoPE with a scaling. Lengths are passed as integers.
Arguments With(const std::string& scaling, const Numbers& numbers = {}) {
  Arguments arguments;
  arguments.Set(scaling, true);
  for (const auto& [name, value] : numbers) {
    const bool is_integer = name == "original_length" || name == "max_position";
    const std::string path = absl::StrCat(scaling, ".", name);
    if (is_integer) {
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

Rotation CompileRotation(const Arguments& arguments, const Geometry& geometry) {
  auto compiled = Compile(arguments, geometry);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return std::get<Rotation>(*std::move(compiled));
}

constexpr Geometry kHead{.dim = 128, .max_position = 2047};

std::vector<double> UnscaledFrequencies() {
  return CompileRotation({}, kHead).frequencies;
}

// Compares frequencies with the expected values in the tests of the
// transformers library, which have five digits: a head of 128 channels, base
// 10000, training length 2048. Both precisions must be within about the
// library's own tolerance.
void ExpectPublished(Arguments arguments, int64_t max_position,
                     const std::vector<double>& published) {
  ASSERT_EQ(published.size(), 64u);
  for (const char* const angles : {"EXACT", "FLOAT32"}) {
    arguments.Set("angles", std::string(angles));
    const auto frequencies =
        CompileRotation(arguments, {.dim = 128, .max_position = max_position})
            .frequencies;
    for (size_t k = 0; k < 64; ++k) {
      EXPECT_NEAR(frequencies[k], published[k], 6e-5 * published[k])
          << k << " " << angles;
    }
  }
}

const std::vector<double>& PublishedUnscaled() {
  static const auto* const published = new std::vector<double>{
      1.0000e+00, 8.6596e-01, 7.4989e-01, 6.4938e-01, 5.6234e-01, 4.8697e-01,
      4.2170e-01, 3.6517e-01, 3.1623e-01, 2.7384e-01, 2.3714e-01, 2.0535e-01,
      1.7783e-01, 1.5399e-01, 1.3335e-01, 1.1548e-01, 1.0000e-01, 8.6596e-02,
      7.4989e-02, 6.4938e-02, 5.6234e-02, 4.8697e-02, 4.2170e-02, 3.6517e-02,
      3.1623e-02, 2.7384e-02, 2.3714e-02, 2.0535e-02, 1.7783e-02, 1.5399e-02,
      1.3335e-02, 1.1548e-02, 1.0000e-02, 8.6596e-03, 7.4989e-03, 6.4938e-03,
      5.6234e-03, 4.8697e-03, 4.2170e-03, 3.6517e-03, 3.1623e-03, 2.7384e-03,
      2.3714e-03, 2.0535e-03, 1.7783e-03, 1.5399e-03, 1.3335e-03, 1.1548e-03,
      1.0000e-03, 8.6596e-04, 7.4989e-04, 6.4938e-04, 5.6234e-04, 4.8697e-04,
      4.2170e-04, 3.6517e-04, 3.1623e-04, 2.7384e-04, 2.3714e-04, 2.0535e-04,
      1.7783e-04, 1.5399e-04, 1.3335e-04, 1.1548e-04};
  return *published;
}

TEST(RopeScalingTest, UnscaledMatchesPublishedFrequencies) {
  ExpectPublished({}, 2047, PublishedUnscaled());
}

TEST(RopeScalingTest, LinearMatchesPublishedFrequencies) {
  for (const double factor : {2.0, 10.0, 20.0}) {
    std::vector<double> published = PublishedUnscaled();
    for (double& frequency : published) frequency /= factor;
    ExpectPublished(With("linear", {{"factor", factor}}), 2047, published);
  }
}

TEST(RopeScalingTest, YarnMatchesPublishedFrequencies) {
  ExpectPublished(
      With("yarn", {{"factor", 10}, {"original_length", 2048}}), 2047,
      {1.0000e+00, 8.6596e-01, 7.4989e-01, 6.4938e-01, 5.6234e-01, 4.8697e-01,
       4.2170e-01, 3.6517e-01, 3.1623e-01, 2.7384e-01, 2.3714e-01, 2.0535e-01,
       1.7783e-01, 1.5399e-01, 1.3335e-01, 1.1548e-01, 1.0000e-01, 8.3479e-02,
       6.9590e-02, 5.7925e-02, 4.8136e-02, 3.9931e-02, 3.3061e-02, 2.7315e-02,
       2.2515e-02, 1.8512e-02, 1.5177e-02, 1.2403e-02, 1.0101e-02, 8.1924e-03,
       6.6143e-03, 5.3120e-03, 4.2400e-03, 3.3599e-03, 2.6396e-03, 2.0520e-03,
       1.5746e-03, 1.1882e-03, 8.7713e-04, 6.2810e-04, 4.3007e-04, 2.7384e-04,
       2.3714e-04, 2.0535e-04, 1.7783e-04, 1.5399e-04, 1.3335e-04, 1.1548e-04,
       1.0000e-04, 8.6596e-05, 7.4989e-05, 6.4938e-05, 5.6234e-05, 4.8697e-05,
       4.2170e-05, 3.6517e-05, 3.1623e-05, 2.7384e-05, 2.3714e-05, 2.0535e-05,
       1.7783e-05, 1.5399e-05, 1.3335e-05, 1.1548e-05});
}

TEST(RopeScalingTest, DynamicNtkMatchesPublishedFrequencies) {
  const Arguments dynamic =
      With("dynamic_ntk", {{"factor", 10}, {"max_position", 2048}});
  ExpectPublished(
      dynamic, 16383,
      {1.0000e+00, 8.0931e-01, 6.5498e-01, 5.3008e-01, 4.2900e-01, 3.4720e-01,
       2.8099e-01, 2.2741e-01, 1.8404e-01, 1.4895e-01, 1.2055e-01, 9.7558e-02,
       7.8955e-02, 6.3899e-02, 5.1714e-02, 4.1853e-02, 3.3872e-02, 2.7413e-02,
       2.2185e-02, 1.7955e-02, 1.4531e-02, 1.1760e-02, 9.5176e-03, 7.7027e-03,
       6.2339e-03, 5.0451e-03, 4.0831e-03, 3.3045e-03, 2.6744e-03, 2.1644e-03,
       1.7517e-03, 1.4176e-03, 1.1473e-03, 9.2852e-04, 7.5146e-04, 6.0817e-04,
       4.9220e-04, 3.9834e-04, 3.2238e-04, 2.6091e-04, 2.1115e-04, 1.7089e-04,
       1.3830e-04, 1.1193e-04, 9.0585e-05, 7.3312e-05, 5.9332e-05, 4.8018e-05,
       3.8861e-05, 3.1451e-05, 2.5453e-05, 2.0600e-05, 1.6672e-05, 1.3492e-05,
       1.0920e-05, 8.8374e-06, 7.1522e-06, 5.7883e-06, 4.6845e-06, 3.7912e-06,
       3.0683e-06, 2.4832e-06, 2.0097e-06, 1.6265e-06});
  ExpectPublished(dynamic, 0, PublishedUnscaled());
}

TEST(RopeScalingTest, Llama3MatchesPublishedFrequencies) {
  ExpectPublished(
      With("llama3", {{"factor", 10}, {"original_length", 2048}}), 2047,
      {1.0000e+00, 8.6596e-01, 7.4989e-01, 6.4938e-01, 5.6234e-01, 4.8697e-01,
       4.2170e-01, 3.6517e-01, 3.1623e-01, 2.7384e-01, 2.3714e-01, 2.0535e-01,
       1.7783e-01, 1.5399e-01, 1.3335e-01, 1.1548e-01, 1.0000e-01, 8.6596e-02,
       7.4989e-02, 6.4938e-02, 5.6234e-02, 4.8697e-02, 4.2170e-02, 3.6517e-02,
       3.1623e-02, 2.7384e-02, 2.3714e-02, 2.0535e-02, 1.7783e-02, 1.5399e-02,
       1.3335e-02, 1.0730e-02, 7.7785e-03, 5.6009e-03, 3.9991e-03, 2.8248e-03,
       1.9675e-03, 1.3449e-03, 8.9549e-04, 5.7363e-04, 3.4539e-04, 2.7384e-04,
       2.3714e-04, 2.0535e-04, 1.7783e-04, 1.5399e-04, 1.3335e-04, 1.1548e-04,
       1.0000e-04, 8.6596e-05, 7.4989e-05, 6.4938e-05, 5.6234e-05, 4.8697e-05,
       4.2170e-05, 3.6517e-05, 3.1623e-05, 2.7384e-05, 2.3714e-05, 2.0535e-05,
       1.7783e-05, 1.5399e-05, 1.3335e-05, 1.1548e-05});
}

TEST(RopeScalingTest, LongRopeMatchesPublishedFrequencies) {
  // Factors 2, 2, 2, ... for short calls and 1, 2, 3, ... for long calls.
  std::vector<double> twos(64, 2), counted(64);
  std::vector<double> halved = PublishedUnscaled();
  std::vector<double> divided = PublishedUnscaled();
  for (size_t k = 0; k < 64; ++k) {
    counted[k] = static_cast<double>(k + 1);
    halved[k] /= 2;
    divided[k] /= counted[k];
  }
  Arguments longrope =
      With("longrope", {{"factor", 10}, {"original_length", 2048}});
  longrope.Set("longrope.short_factors", twos);
  longrope.Set("longrope.long_factors", counted);
  ExpectPublished(longrope, 2047, halved);
  ExpectPublished(longrope, 20479, divided);
}

TEST(RopeScalingTest, LinearDividesEveryFrequency) {
  const auto unscaled = UnscaledFrequencies();
  const auto scaled = CompileRotation(With("linear", {{"factor", 4}}), kHead);
  EXPECT_EQ(scaled.attention_factor, 1);
  for (size_t k = 0; k < unscaled.size(); ++k) {
    EXPECT_EQ(scaled.frequencies[k], unscaled[k] / 4);
  }
}

TEST(RopeScalingTest, NtkKeepsTheFirstPairAndSlowsDownTheLastByTheFactor) {
  const auto unscaled = UnscaledFrequencies();
  const auto scaled =
      CompileRotation(With("ntk", {{"factor", 8}}), kHead).frequencies;
  EXPECT_EQ(scaled.front(), unscaled.front());
  EXPECT_NEAR(scaled.back(), unscaled.back() / 8, 1e-15 * unscaled.back());
}

TEST(RopeScalingTest, NtkRejectsASinglePair) {
  for (const char* const scaling : {"ntk", "dynamic_ntk"}) {
    EXPECT_EQ(FieldOf(Compile(With(scaling), {.dim = 2}).status()),
              absl::StrCat("scheme.rope.", scaling, ".factor"));
    EXPECT_TRUE(Compile(With(scaling), {.dim = 4}).ok());
  }
}

TEST(RopeScalingTest, DynamicNtkChangesNothingUpToMaxPosition) {
  const Arguments dynamic =
      With("dynamic_ntk", {{"factor", 10}, {"max_position", 2048}});
  EXPECT_EQ(
      CompileRotation(dynamic, {.dim = 128, .max_position = 0}).frequencies,
      UnscaledFrequencies());
  EXPECT_EQ(
      CompileRotation(dynamic, {.dim = 128, .max_position = 2047}).frequencies,
      UnscaledFrequencies());
  EXPECT_NE(
      CompileRotation(dynamic, {.dim = 128, .max_position = 2048}).frequencies,
      UnscaledFrequencies());
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

TEST(RopeScalingTest, YarnAttentionFactorMatchesFormula) {
  const auto factor = [](const Numbers& numbers) {
    return CompileRotation(With("yarn", numbers), kHead).attention_factor;
  };
  const double paper = 0.1 * std::log(40.0) + 1;
  EXPECT_EQ(factor({{"factor", 40}}), paper);
  EXPECT_EQ(factor({{"factor", 1}}), 1);
  EXPECT_EQ(factor({{"factor", 0.5}}), 1);
  EXPECT_EQ(factor({{"factor", 40}, {"attention_factor", 0.5}}), 0.5);
  // Equal values of both, as in DeepSeek's configuration, cancel.
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 1}, {"mscale_all_dim", 1}}), 1);
  EXPECT_NEAR(factor({{"factor", 40}, {"mscale", 1}, {"mscale_all_dim", 0.5}}),
              paper / (0.05 * std::log(40.0) + 1), 1e-15);
  // One of them alone has no effect, and neither has a zero.
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 0.5}}), paper);
  EXPECT_EQ(factor({{"factor", 40}, {"mscale", 0.5}, {"mscale_all_dim", 0}}),
            paper);
}

TEST(RopeScalingTest, AttentionFactorMultipliesScoresByItsSquare) {
  const Arguments yarn = With("yarn", {{"attention_factor", 1.5}});
  const auto rotation = CompileRotation(yarn, {.dim = 8});
  std::vector<double> cos(4), sin(4), row = {1, 2, 3, 4, 5, 6, 7, 8};
  double before = 0, after = 0;
  for (const double value : row) before += value * value;
  rotation.Angles(77, cos.data(), sin.data());
  rotation.Apply(cos.data(), sin.data(), row.data());
  for (const double value : row) after += value * value;
  EXPECT_NEAR(after, 1.5 * 1.5 * before, 1e-12 * after);
}

TEST(RopeScalingTest, YarnWithoutTruncationHasAFinerRamp) {
  Arguments yarn = With("yarn", {{"factor", 4}});
  const auto rounded = CompileRotation(yarn, kHead).frequencies;
  yarn.Set("yarn.truncate", false);
  const auto finer = CompileRotation(yarn, kHead).frequencies;
  EXPECT_NE(rounded, finer);
  EXPECT_EQ(rounded.front(), finer.front());
  EXPECT_EQ(rounded.back(), finer.back());
}

TEST(RopeScalingTest, YarnRampOfZeroLengthIsAStep) {
  // Both ends of the ramp are at pair 0.
  const auto scaled = CompileRotation(
      With("yarn", {{"factor", 4}, {"original_length", 6}}), kHead);
  const auto unscaled = UnscaledFrequencies();
  for (size_t k = 1; k < unscaled.size(); ++k) {
    EXPECT_DOUBLE_EQ(scaled.frequencies[k], unscaled[k] / 4);
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

TEST(RopeScalingTest, LongRopeUsesLongFactorsPastTheOriginalLength) {
  const Arguments arguments = LongRope(1, 100);
  EXPECT_THAT(
      CompileRotation(arguments, {.dim = 4, .max_position = 99}).frequencies,
      ::testing::ElementsAre(0.5, 0.01 / 2));
  EXPECT_THAT(
      CompileRotation(arguments, {.dim = 4, .max_position = 100}).frequencies,
      ::testing::ElementsAre(1, 0.01 / 8));
}

TEST(RopeScalingTest, LongRopeAttentionFactorAppliesToShortCalls) {
  const double rule = std::sqrt(1 + std::log(32.0) / std::log(4096.0));
  const Arguments arguments = LongRope(32, 4096);
  EXPECT_EQ(CompileRotation(arguments, {.dim = 4, .max_position = 3})
                .attention_factor,
            rule);
  EXPECT_EQ(CompileRotation(arguments, {.dim = 4, .max_position = 5000})
                .attention_factor,
            rule);
  EXPECT_EQ(CompileRotation(LongRope(1, 4096), {.dim = 4}).attention_factor, 1);
}

TEST(RopeScalingTest, LongRopeRejectsAWrongNumberOfFactors) {
  EXPECT_EQ(FieldOf(Compile(LongRope(1, 100), {.dim = 8}).status()),
            "scheme.rope.longrope.short_factors");
  EXPECT_EQ(MustMake("rope", LongRope(1, 100))->dim(), 4);
}

TEST(RopeScalingTest, ProportionalUsesTheHeadDimensionInTheExponent) {
  const auto scaled = CompileRotation(
      With("proportional", {{"share", 0.25}, {"factor", 2}}), {.dim = 16});
  ASSERT_EQ(scaled.pair_count(), 8);
  EXPECT_EQ(scaled.frequencies[0], 0.5);
  EXPECT_EQ(scaled.frequencies[1], std::pow(10000.0, -2.0 / 16) / 2);
  for (int k = 2; k < 8; ++k) EXPECT_EQ(scaled.frequencies[k], 0);
}

TEST(RopeScalingTest, ProportionalRejectsAPartialRotaryDimension) {
  Arguments arguments = With("proportional", {{"share", 0.5}});
  const auto whole = CompileRotation(arguments, kHead).frequencies;
  arguments.Set("rotary_dim", int64_t{128});
  EXPECT_EQ(CompileRotation(arguments, kHead).frequencies, whole);
  arguments.Set("rotary_dim", int64_t{64});
  EXPECT_EQ(FieldOf(Compile(arguments, kHead).status()),
            "scheme.rope.rotary_dim");
}

// In the published configuration of Llama 4, both factors are 1.
TEST(RopeScalingTest, Llama3WithEqualFactorsIsAStep) {
  const auto unscaled = UnscaledFrequencies();
  const auto scaled =
      CompileRotation(With("llama3", {{"factor", 16},
                                      {"low_freq_factor", 1},
                                      {"high_freq_factor", 1},
                                      {"original_length", 8192}}),
                      kHead)
          .frequencies;
  for (size_t k = 0; k < unscaled.size(); ++k) {
    const bool is_long = 2 * std::numbers::pi / unscaled[k] > 8192;
    EXPECT_EQ(scaled[k], is_long ? unscaled[k] / 16 : unscaled[k]) << k;
  }
}

TEST(RopeScalingTest, RejectsTwoScalings) {
  Arguments arguments = With("linear");
  arguments.Set("yarn", true);
  EXPECT_EQ(FieldOf(MakeScheme(*FindScheme("rope"), arguments).status()),
            "rope.yarn");
}

TEST(RopeScalingTest, ScaledPairsUseTheRotaryDimensionInTheExponent) {
  Arguments arguments = With("linear", {{"factor", 2}});
  arguments.Set("rotary_dim", int64_t{4});
  EXPECT_THAT(CompileRotation(arguments, {.dim = 64}).frequencies,
              ::testing::ElementsAre(0.5, 0.01 / 2));
}

Rotation::Origin OriginOf(const Arguments& arguments, Geometry geometry) {
  return CompileRotation(arguments, geometry).origin;
}

TEST(RopeScalingTest, LengthsOfTheCallOverrideThoseOfTheScaling) {
  const Arguments yarn =
      With("yarn", {{"factor", 4}, {"original_length", 1000}});
  Geometry geometry{.dim = 16};
  EXPECT_EQ(OriginOf(yarn, geometry).original_length, 1000);
  EXPECT_EQ(OriginOf(yarn, geometry).target_length, 4000);
  geometry.trained_length = 500;
  EXPECT_EQ(OriginOf(yarn, geometry).original_length, 500);
  EXPECT_EQ(OriginOf(yarn, geometry).target_length, 2000);
  geometry.target_length = 9000;
  EXPECT_EQ(OriginOf(yarn, geometry).target_length, 9000);
}

TEST(RopeScalingTest, TargetLengthFollowsFromTheFactor) {
  for (const char* const scaling : {"linear", "ntk", "proportional"}) {
    const Arguments arguments = With(scaling, {{"factor", 4}});
    EXPECT_EQ(OriginOf(arguments, {.dim = 16}).original_length, 0);
    const auto origin = OriginOf(arguments, {.dim = 16, .trained_length = 100});
    EXPECT_EQ(origin.original_length, 100);
    EXPECT_EQ(origin.target_length, 400);
    // The original length follows from the target length, too.
    EXPECT_EQ(
        OriginOf(arguments, {.dim = 16, .target_length = 400}).original_length,
        100);
  }
  const auto unscaled = OriginOf({}, {.dim = 16, .trained_length = 100});
  EXPECT_EQ(unscaled.target_length, 100);
  EXPECT_EQ(unscaled.frequencies, CompileRotation({}, {.dim = 16}).frequencies);
  EXPECT_TRUE(OriginOf({}, {.dim = 16}).frequencies.empty());
}

TEST(RopeScalingTest, ReportsFrequenciesOfTheTargetLength) {
  const Arguments dynamic =
      With("dynamic_ntk", {{"factor", 4}, {"max_position", 100}});
  EXPECT_EQ(
      OriginOf(dynamic, {.dim = 16, .max_position = 7}).target_frequencies,
      CompileRotation(dynamic, {.dim = 16, .max_position = 399}).frequencies);
  Arguments longrope =
      With("longrope", {{"factor", 4}, {"original_length", 100}});
  longrope.Set("longrope.long_factors", std::vector<double>{1, 4});
  EXPECT_EQ(
      OriginOf(longrope, {.dim = 4, .max_position = 7}).target_frequencies,
      CompileRotation(longrope, {.dim = 4, .max_position = 399}).frequencies);
  EXPECT_THAT(OriginOf(longrope, {.dim = 4, .max_position = 7}).ramp,
              ::testing::ElementsAre(0, 1));
  // Scalings that do not depend on the length report none.
  EXPECT_TRUE(OriginOf(With("yarn", {{"factor", 4}}), {.dim = 16})
                  .target_frequencies.empty());
}

TEST(RopeScalingTest, RampDoesNotDependOnTheLengthsOfTheCall) {
  // The ramp extends from pair 16 to pair 41 of 64.
  for (const double factor : {1.0, 4.0}) {
    Geometry geometry = kHead;
    for (const int64_t trained : {0, 99}) {
      geometry.trained_length = trained;
      const auto ramp =
          OriginOf(With("yarn", {{"factor", factor}}), geometry).ramp;
      ASSERT_EQ(ramp.size(), 64u);
      EXPECT_EQ(ramp[16], 0);
      EXPECT_NEAR(ramp[21], 5.0 / 25, 1e-12);
      EXPECT_EQ(ramp[41], 1);
    }
  }
  EXPECT_THAT(OriginOf(With("linear", {{"factor", 3}}), kHead).ramp,
              ::testing::Each(::testing::DoubleNear(1, 1e-12)));
  EXPECT_TRUE(OriginOf({}, kHead).ramp.empty());
}

TEST(RopeScalingTest, ProportionalDefaultsToTheHalfSplitLayout) {
  Arguments arguments = With("proportional", {{"share", 0.5}});
  EXPECT_EQ(CompileRotation(arguments, {.dim = 16}).pairing,
            Rotation::Pairing::kHalves);
  arguments.Set("layout", std::string("INTERLEAVED"));
  EXPECT_EQ(CompileRotation(arguments, {.dim = 16}).pairing,
            Rotation::Pairing::kAdjacent);
  EXPECT_EQ(CompileRotation(With("linear"), {.dim = 16}).pairing,
            Rotation::Pairing::kAdjacent);
}

TEST(RopeScalingTest, SinglePrecisionFrequenciesAreFloats) {
  for (const char* const scaling :
       {"linear", "ntk", "dynamic_ntk", "yarn", "llama3", "longrope"}) {
    Arguments arguments = With(scaling, {{"factor", 3.3}});
    const auto exact = CompileRotation(arguments, kHead).frequencies;
    arguments.Set("angles", std::string("FLOAT32"));
    const auto single = CompileRotation(arguments, kHead).frequencies;
    bool differs = false;
    for (size_t k = 0; k < 64; ++k) {
      EXPECT_EQ(single[k], static_cast<float>(single[k])) << scaling;
      EXPECT_NEAR(single[k], exact[k], 4e-7 * exact[k]) << scaling;
      // Frequencies are rounded after each step, not once.
      differs |= static_cast<float>(exact[k]) != single[k];
    }
    EXPECT_TRUE(differs) << scaling;
  }
}

}  // namespace
}  // namespace locus
