// Tests of the worked case of each property.

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/properties/properties.h"
#include "tests/core/properties/property_testing.h"

namespace locus {
namespace {

using testing::Check;
using testing::CheckOne;
using testing::ExpectPromisesKept;
using testing::Has;
using ::testing::HasSubstr;

TEST(EquivarianceCaseTest, HoldsWithoutPositions) {
  const auto result = CheckOne("none", "permutation_equivariance");
  EXPECT_LT(result.measured, 1e-6);
  EXPECT_THAT(result.worked_case, HasSubstr("3 tokens, width 8, one head, "
                                            "unmasked, permuted as [2, 0, 1]"));
}

TEST(EquivarianceCaseTest, FailsForSinusoidalCodes) {
  EXPECT_GT(CheckOne("sinusoidal", "permutation_equivariance").measured, 1e-3);
}

TEST(EquivarianceCaseTest, CausalMaskIsNotCounted) {
  // With slopes of zero only the causal mask depends on the order.
  Arguments flat;
  flat.Set("slopes", std::vector<double>{0, 0});
  const auto result = CheckOne("alibi", "permutation_equivariance", flat);
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case, HasSubstr("mask alone"));
  EXPECT_EQ(CheckOne("alibi", "permutation_equivariance").verdict,
            Verdict::kFails);
}

TEST(EquivarianceCaseTest, SymmetricBiasRunsUnmasked) {
  Arguments symmetric;
  symmetric.Set("symmetric", true);
  const auto result = CheckOne("alibi", "permutation_equivariance", symmetric);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case, HasSubstr("unmasked"));
}

TEST(ShiftCaseTest, ShiftsStayWithinTheTable) {
  const auto result = CheckOne("learned", "shift_invariance");
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case, HasSubstr("shifted by 1, 17, 100:"));
}

TEST(RotationCaseTest, ChecksTheDocumentedPairs) {
  const auto result = CheckOne("rope", "relative_rotation");
  EXPECT_LE(result.measured, 1e-5);
  EXPECT_THAT(result.worked_case,
              HasSubstr("d = 16, T = 32, pairs (0,1), (3,7), (5,5), (10,12), "
                        "(20,8)"));
}

TEST(RotationCaseTest, HeadIsWidenedForAWideRotation) {
  Arguments wide;
  wide.Set("rotary_dim", int64_t{100});
  ExpectPromisesKept("rope", wide);
  EXPECT_THAT(CheckOne("rope", "relative_rotation", wide).worked_case,
              HasSubstr("d = 128"));
}

TEST(RotationCaseTest, RotationBeyondTheMaxWidthIsNotRun) {
  Arguments wide;
  wide.Set("rotary_dim", int64_t{1} << 30);
  const auto result = CheckOne("rope", "norm_preservation", wide);
  EXPECT_EQ(result.verdict, Verdict::kUndefined);
  EXPECT_THAT(result.worked_case, HasSubstr("rotary_dim"));
}

TEST(BoundednessCaseTest, SquaredSinusoidalNormIsHalfTheWidth) {
  EXPECT_THAT(CheckOne("sinusoidal", "boundedness").worked_case,
              HasSubstr("is 8 = d / 2 at width 16"));
}

TEST(BoundednessCaseTest, LinearBiasIsUnbounded) {
  EXPECT_GT(CheckOne("alibi", "boundedness").measured, 1000);
}

TEST(UniquenessCaseTest, DistancesOfABucketCollide) {
  // There are 32 buckets for 256 + 24 distances. The first bucket with more
  // than one distance begins at 16.
  const auto result = CheckOne("t5_bias", "uniqueness");
  EXPECT_EQ(result.measured, 256 + 24 - 32);
  EXPECT_THAT(result.worked_case, HasSubstr("16 and 17"));
}

TEST(UniquenessCaseTest, FarCollisionsAreFound) {
  // Each of the first 256 distances has a bucket of its own.
  Arguments wide;
  wide.Set("bucket_count", int64_t{512});
  wide.Set("max_distance", int64_t{4096});
  const auto result = CheckOne("t5_bias", "uniqueness", wide);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_TRUE(result.as_promised);
  EXPECT_THAT(result.worked_case, HasSubstr("24 others up to 1048575"));
}

TEST(UniquenessCaseTest, SmallSlopesDistinguishDistances) {
  Arguments flat;
  flat.Set("bias_max", 1000.0);
  EXPECT_EQ(CheckOne("alibi", "uniqueness", flat).verdict, Verdict::kHolds);
}

TEST(UniquenessCaseTest, TableIsCheckedWithinItsLength) {
  Arguments clamped;
  clamped.Set("max_length", int64_t{100});
  clamped.Set("policy", std::string("CLAMP"));
  const auto result = CheckOne("learned", "uniqueness", clamped);
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case,
              HasSubstr("first 100 codes of positions, within the table"));
}

TEST(SlopesCaseTest, EightHeadsHalveTheSlope) {
  const auto result = CheckOne("alibi", "slopes_geometric");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case,
              HasSubstr("8 heads, slopes from 0.5 to 0.00390625, each 0.5"));
}

TEST(SlopesCaseTest, UserSlopesNeedNotBeASeries) {
  Arguments given;
  given.Set("slopes", std::vector<double>{1, 0.5, 0.4});
  const auto result = CheckOne("alibi", "slopes_geometric", given);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNotApplicable);
  EXPECT_TRUE(result.as_promised);
}

TEST(SlopesCaseTest, AppliesToBiasesWithSlopesOnly) {
  EXPECT_FALSE(Has(Check("t5_bias"), "slopes_geometric"));
  EXPECT_FALSE(Has(Check("rope"), "slopes_geometric"));
}

TEST(DotProductCaseTest, ReportsKnownDotProducts) {
  const auto result = CheckOne("sinusoidal", "worked_dot_products");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case, HasSubstr("PE(0).PE(1) = 1.5402523"));
  EXPECT_THAT(result.worked_case, HasSubstr("PE(5).PE(6) = 1.5402523"));
  EXPECT_THAT(result.worked_case, HasSubstr("PE(0).PE(5) = 1.2824124"));
  EXPECT_FALSE(Has(Check("learned"), "worked_dot_products"));
}

TEST(SmoothnessCaseTest, SinusoidalStepsAreHalfTheDiameterAtMost) {
  const auto result = CheckOne("sinusoidal", "smoothness");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_GT(result.measured, 0.1);
  EXPECT_THAT(result.worked_case, HasSubstr("First 256 codes of positions"));
}

TEST(SmoothnessCaseTest, RowsOfATableAreIndependent) {
  EXPECT_GT(CheckOne("learned", "smoothness").measured, 0.5);
}

TEST(SmoothnessCaseTest, TableOfSevenRowsIsNotRun) {
  Arguments tiny;
  tiny.Set("max_length", int64_t{7});
  const auto result = CheckOne("learned", "smoothness", tiny);
  EXPECT_EQ(result.verdict, Verdict::kUndefined);
  EXPECT_THAT(result.worked_case, HasSubstr("only 7 positions"));
}

TEST(LengthIndependenceCaseTest, InterpolatedTablesDependOnTheLength) {
  Arguments stretched;
  stretched.Set("max_length", int64_t{100});
  stretched.Set("policy", std::string("INTERPOLATE"));
  const auto result = CheckOne("learned", "length_independence", stretched);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNo);
  EXPECT_TRUE(result.as_promised);
}

TEST(LengthIndependenceCaseTest, LongTablesAreStretchedToo) {
  Arguments stretched;
  stretched.Set("max_length", int64_t{5000});
  stretched.Set("policy", std::string("INTERPOLATE"));
  const auto result = CheckOne("learned", "length_independence", stretched);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case, HasSubstr("32 to 16384 tokens"));
}

TEST(LengthIndependenceCaseTest, DynamicScalingDependsOnTheLength) {
  Arguments dynamic;
  dynamic.Set("dynamic_ntk", true);
  dynamic.Set("dynamic_ntk.factor", 4.0);
  dynamic.Set("dynamic_ntk.max_position", int64_t{64});
  const auto result = CheckOne("rope", "length_independence", dynamic);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNo);
  EXPECT_EQ(CheckOne("rope", "length_independence").verdict, Verdict::kHolds);
}

TEST(OpenEndednessCaseTest, TableEndsUnlessRowsAreDrawn) {
  for (const char* const policy :
       {"ERROR", "CLAMP", "WRAP", "ZERO", "INTERPOLATE"}) {
    SCOPED_TRACE(policy);
    Arguments table;
    table.Set("policy", std::string(policy));
    const auto result = CheckOne("learned", "open_endedness", table);
    EXPECT_EQ(result.verdict, Verdict::kFails);
    EXPECT_EQ(result.promise, Promise::Answer::kNo);
  }
  Arguments drawn;
  drawn.Set("policy", std::string("RANDOM"));
  const auto result = CheckOne("learned", "open_endedness", drawn);
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
}

TEST(OpenEndednessCaseTest, TablesBeyondTheLongestProbeEndToo) {
  for (const char* const policy : {"CLAMP", "WRAP", "ZERO", "INTERPOLATE"}) {
    SCOPED_TRACE(policy);
    Arguments table;
    table.Set("max_length", int64_t{1} << 21);
    table.Set("policy", std::string(policy));
    EXPECT_EQ(CheckOne("learned", "open_endedness", table).verdict,
              Verdict::kFails);
  }
}

TEST(OpenEndednessCaseTest, FarBucketsAreShared) {
  const auto result = CheckOne("t5_bias", "open_endedness");
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case,
              HasSubstr("longest sequence with a distinct last position has "
                        "16 tokens"));
}

TEST(DeterminismCaseTest, NoBitOfAnySchemeChanges) {
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.site == Site::kNone) continue;
    EXPECT_EQ(CheckOne(info.name, "determinism").verdict, Verdict::kHolds)
        << info.name;
  }
}

TEST(CodeRuleCasesTest, NoCodeFollowsNoRule) {
  for (const char* const property :
       {"smoothness", "length_independence", "open_endedness", "determinism"}) {
    const auto result = CheckOne("none", property);
    EXPECT_EQ(result.verdict, Verdict::kUndefined) << property;
    EXPECT_THAT(result.worked_case, HasSubstr("there is no code"));
  }
}

}  // namespace
}  // namespace locus
