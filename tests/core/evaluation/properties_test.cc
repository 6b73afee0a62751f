// The properties of schemes, and of encodings that fail them.
#include "core/evaluation/properties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/evaluation/naive.h"
#include "tests/core/testing.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::MustMake;
using testing::RandomTensor;

const PropertyResult& Find(const std::vector<PropertyResult>& results,
                           absl::string_view property) {
  static const PropertyResult* const none = new PropertyResult();
  for (const PropertyResult& result : results) {
    if (result.property == property) return result;
  }
  ADD_FAILURE() << property << " was not checked";
  return *none;
}

bool Has(const std::vector<PropertyResult>& results,
         absl::string_view property) {
  return std::any_of(results.begin(), results.end(), [&](const auto& result) {
    return result.property == property;
  });
}

std::vector<PropertyResult> Check(absl::string_view name,
                                  Arguments arguments = {}) {
  return *CheckProperties(*MustMake(name, std::move(arguments)),
                          FindScheme(name)->promises, StopCheck());
}

PropertyResult CheckOne(absl::string_view name, absl::string_view property,
                        Arguments arguments = {}) {
  const auto results = Check(name, std::move(arguments));
  return Find(results, property);
}

// --- all schemes at once ---

class PropertiesTest : public ::testing::TestWithParam<SchemeInfo> {};

TEST_P(PropertiesTest, AreAsPromised) {
  for (const PropertyResult& result : Check(GetParam().name)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
}

TEST_P(PropertiesTest, ComeInTheOrderOfThePromisesWithWords) {
  const auto results = Check(GetParam().name);
  ASSERT_GE(results.size(), static_cast<size_t>(kPropertyCount));
  for (int n = 0; n < kPropertyCount; ++n) {
    EXPECT_EQ(results[n].property, NameOf(static_cast<Property>(n)));
    EXPECT_EQ(results[n].promise, GetParam().promises[n].answer);
    EXPECT_FALSE(results[n].worked_case.empty());
  }
}

TEST_P(PropertiesTest, AreMeasuredEvenIfNothingIsPromised) {
  // Verdicts do not follow the promise: turned around, all that was measured
  // stays, and nothing is as promised.
  Promises contrary = GetParam().promises;
  for (Promise& promise : contrary) {
    promise = promise.answer == Promise::Answer::kYes ? kNo : kYes;
  }
  const auto scheme = MustMake(GetParam().name);
  const auto plain =
      *CheckProperties(*scheme, GetParam().promises, StopCheck());
  const auto turned = *CheckProperties(*scheme, contrary, StopCheck());
  ASSERT_EQ(plain.size(), turned.size());
  for (int n = 0; n < kPropertyCount; ++n) {
    EXPECT_EQ(turned[n].verdict, plain[n].verdict);
    EXPECT_EQ(turned[n].measured, plain[n].measured);
    EXPECT_FALSE(turned[n].as_promised) << turned[n].property;
  }
}

TEST_P(PropertiesTest, AreTheSameTwice) {
  const auto once = Check(GetParam().name);
  const auto again = Check(GetParam().name);
  ASSERT_EQ(once.size(), again.size());
  for (size_t n = 0; n < once.size(); ++n) {
    EXPECT_EQ(once[n].measured, again[n].measured);
    EXPECT_EQ(once[n].worked_case, again[n].worked_case);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, PropertiesTest,
                         ::testing::ValuesIn(AllSchemes().begin(),
                                             AllSchemes().end()),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// --- the worked cases ---

TEST(EquivarianceCaseTest, WithoutPositionsTheDifferenceIsBelowAMillionth) {
  const auto result = CheckOne("none", "permutation_equivariance");
  EXPECT_LT(result.measured, 1e-6);
  EXPECT_THAT(result.worked_case, HasSubstr("3 tokens, width 8, one head, "
                                            "unmasked, permuted as [2, 0, 1]"));
}

TEST(EquivarianceCaseTest, SinusoidalDiffersByMoreThanAThousandth) {
  EXPECT_GT(CheckOne("sinusoidal", "permutation_equivariance").measured, 1e-3);
}

TEST(EquivarianceCaseTest, CausalBiasIsJudgedWithoutTheMask) {
  // Slopes of zero leave the mask alone, which must not count.
  Arguments flat;
  flat.Set("slopes", std::vector<double>{0, 0});
  const auto result = CheckOne("alibi", "permutation_equivariance", flat);
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case, HasSubstr("mask alone"));
  EXPECT_EQ(CheckOne("alibi", "permutation_equivariance").verdict,
            Verdict::kFails);
}

TEST(EquivarianceCaseTest, SymmetricBiasIsRunUnmasked) {
  Arguments symmetric;
  symmetric.Set("symmetric", true);
  const auto result = CheckOne("alibi", "permutation_equivariance", symmetric);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case, HasSubstr("unmasked"));
}

TEST(ShiftCaseTest, TableIsShiftedAsFarAsItGoes) {
  const auto result = CheckOne("learned", "shift_invariance");
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_THAT(result.worked_case, HasSubstr("shifted by 1, 17, 100:"));
}

TEST(RotationCaseTest, IsTheCourses) {
  const auto result = CheckOne("rope", "relative_rotation");
  EXPECT_LE(result.measured, 1e-5);
  EXPECT_THAT(result.worked_case,
              HasSubstr("d = 16, T = 32, pairs (0,1), (3,7), (5,5), (10,12), "
                        "(20,8)"));
}

TEST(RotationCaseTest, WideRotationGetsAWideHead) {
  Arguments wide;
  wide.Set("rotary_dim", int64_t{100});
  for (const PropertyResult& result : Check("rope", wide)) {
    EXPECT_TRUE(result.as_promised) << result.worked_case;
  }
  EXPECT_THAT(CheckOne("rope", "relative_rotation", wide).worked_case,
              HasSubstr("d = 128"));
}

TEST(RotationCaseTest, TooWideARotationIsNotRun) {
  Arguments wide;
  wide.Set("rotary_dim", int64_t{1} << 30);
  const auto result = CheckOne("rope", "norm_preservation", wide);
  EXPECT_EQ(result.verdict, Verdict::kNotApplicable);
  EXPECT_THAT(result.worked_case, HasSubstr("rotary_dim"));
}

TEST(BoundednessCaseTest, SinusoidalNormIsHalfTheWidth) {
  EXPECT_THAT(CheckOne("sinusoidal", "boundedness").worked_case,
              HasSubstr("is 8 = d / 2 at width 16"));
}

TEST(BoundednessCaseTest, LinearPenaltyGrowsAThousandfold) {
  EXPECT_GT(CheckOne("alibi", "boundedness").measured, 1000);
}

TEST(UniquenessCaseTest, BucketsShareTheirBias) {
  // 32 buckets for 256 distances and 24 far ones; the first to be shared begins
  // at 16.
  const auto result = CheckOne("t5_bias", "uniqueness");
  EXPECT_EQ(result.measured, 256 + 24 - 32);
  EXPECT_THAT(result.worked_case, HasSubstr("16 and 17"));
}

TEST(UniquenessCaseTest, BucketsAreSharedFarOut) {
  // The first 256 distances have a bucket each.
  Arguments wide;
  wide.Set("bucket_count", int64_t{512});
  wide.Set("max_distance", int64_t{4096});
  const auto result = CheckOne("t5_bias", "uniqueness", wide);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_TRUE(result.as_promised);
  EXPECT_THAT(result.worked_case, HasSubstr("24 others up to 1048575"));
}

TEST(UniquenessCaseTest, SmallSlopesStillTellDistancesApart) {
  Arguments flat;
  flat.Set("bias_max", 1000.0);
  EXPECT_EQ(CheckOne("alibi", "uniqueness", flat).verdict, Verdict::kHolds);
}

TEST(UniquenessCaseTest, TableIsHeldToItsPromiseWithinTheTable) {
  Arguments clamped;
  clamped.Set("max_length", int64_t{100});
  clamped.Set("policy", std::string("CLAMP"));
  const auto result = CheckOne("learned", "uniqueness", clamped);
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case,
              HasSubstr("first 100 codes of positions, within the table"));
}

// --- parameters do not make liars of schemes ---

void ExpectKept(absl::string_view name, const Arguments& arguments) {
  for (const PropertyResult& result : Check(name, arguments)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
}

TEST(ParametersTest, TablesOfEveryPolicyAndLengthKeepTheirPromises) {
  for (const char* const policy :
       {"ERROR", "CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE"}) {
    for (const int64_t length : {1, 2, 3, 8, 9, 17, 64, 100, 1000}) {
      SCOPED_TRACE(::testing::Message() << policy << " " << length);
      Arguments arguments;
      arguments.Set("max_length", length);
      arguments.Set("policy", std::string(policy));
      ExpectKept("learned", arguments);
    }
  }
}

TEST(ParametersTest, BucketsOfEveryShapeKeepTheirPromises) {
  for (const int64_t buckets : {2, 4, 32, 512, 4096}) {
    for (const int64_t distance : {int64_t{3000}, int64_t{1} << 40}) {
      for (const bool bidirectional : {false, true}) {
        if (bidirectional && buckets == 2) continue;
        SCOPED_TRACE(::testing::Message() << buckets << " " << distance);
        Arguments arguments;
        arguments.Set("bucket_count", buckets);
        arguments.Set("max_distance", distance);
        arguments.Set("bidirectional", bidirectional);
        ExpectKept("t5_bias", arguments);
      }
    }
  }
}

TEST(ParametersTest, SlopesOfEverySizeKeepTheirPromises) {
  for (const double bias_max : {0.0, 1.0, 20.0, 1000.0}) {
    SCOPED_TRACE(bias_max);
    Arguments arguments;
    arguments.Set("bias_max", bias_max);
    ExpectKept("alibi", arguments);
  }
}

TEST(ParametersTest, RotationsOfEveryWidthKeepTheirPromises) {
  for (const int64_t width : {2, 64, 256, 1024}) {
    SCOPED_TRACE(width);
    Arguments arguments;
    arguments.Set("rotary_dim", width);
    ExpectKept("rope", arguments);
  }
}

TEST(ParametersTest, BiasTooSmallToShowIsSaidToBeSo) {
  Arguments flat;
  flat.Set("bias_max", 1000.0);
  const auto result = CheckOne("alibi", "permutation_equivariance", flat);
  EXPECT_EQ(result.verdict, Verdict::kNotApplicable);
  EXPECT_THAT(result.worked_case, HasSubstr("to tell distances apart"));
}

TEST(ParametersTest, GivenSlopesBreakNoPromise) {
  for (const std::vector<double>& slopes :
       {std::vector<double>{0, 0, 0}, {-1, 1}, {1, 0.5, 0.4}, {0.1}}) {
    Arguments given;
    given.Set("slopes", slopes);
    ExpectKept("alibi", given);
  }
  Arguments given;
  given.Set("slopes", std::vector<double>{-1, 1});
  const auto result = CheckOne("alibi", "monotonic_decay", given);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNotApplicable);
  EXPECT_THAT(result.worked_case, HasSubstr("given by the caller"));
  // What holds for all slopes stays promised.
  EXPECT_EQ(CheckOne("alibi", "shift_invariance", given).promise,
            Promise::Answer::kYes);
}

TEST(ParametersTest, GivenTablesBreakNoPromise) {
  const Tensor zeros = Tensor::Zeros(DType::kFloat32, {32, 4});
  Arguments given;
  given.Set("table", zeros.view());
  ExpectKept("learned", given);
  ExpectKept("t5_bias", given);
}

// --- cost ---

// Counts how often it is asked for.
class CountedBias final : public SchemeFormula {
 public:
  static int& count() {
    static int count = 0;
    return count;
  }
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    ++count();
    return MustMake("t5_bias")->Compile(geometry);
  }
};

TEST(PropertiesCostTest, SchemeIsCompiledAFewTimesOnly) {
  SchemeInfo info = *FindScheme("t5_bias");
  info.make =
      [](const Arguments&) -> absl::StatusOr<std::unique_ptr<SchemeFormula>> {
    return std::make_unique<CountedBias>();
  };
  CountedBias::count() = 0;
  EXPECT_TRUE(
      CheckProperties(**MakeScheme(info, {}), info.promises, StopCheck()).ok());
  EXPECT_LE(CountedBias::count(), 30);
}

TEST(PropertiesCostTest, StopIsAskedBetweenCases) {
  int asked = 0;
  const auto results =
      CheckProperties(*MustMake("rope"), FindScheme("rope")->promises, [&] {
        return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("enough");
      });
  EXPECT_TRUE(absl::IsCancelled(results.status()));
  EXPECT_EQ(asked, 3);
}

TEST(SlopesCaseTest, EightSlopesHalve) {
  const auto result = CheckOne("alibi", "slopes_geometric");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case,
              HasSubstr("8 heads, slopes from 0.5 to 0.00390625, each 0.5"));
}

TEST(SlopesCaseTest, GivenSlopesNeedNotBeASeries) {
  Arguments given;
  given.Set("slopes", std::vector<double>{1, 0.5, 0.4});
  const auto result = CheckOne("alibi", "slopes_geometric", given);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNotApplicable);
  EXPECT_TRUE(result.as_promised);
}

TEST(SlopesCaseTest, OnlyBiasesWithSlopesHaveIt) {
  EXPECT_FALSE(Has(Check("t5_bias"), "slopes_geometric"));
  EXPECT_FALSE(Has(Check("rope"), "slopes_geometric"));
}

TEST(DotProductCaseTest, HasTheExercisesNumbers) {
  const auto result = CheckOne("sinusoidal", "worked_dot_products");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_THAT(result.worked_case, HasSubstr("PE(0).PE(1) = 1.5402523"));
  EXPECT_THAT(result.worked_case, HasSubstr("PE(5).PE(6) = 1.5402523"));
  EXPECT_THAT(result.worked_case, HasSubstr("PE(0).PE(5) = 1.2824124"));
  EXPECT_FALSE(Has(Check("learned"), "worked_dot_products"));
}

// --- parameters that fix the geometry, or leave nothing to measure ---

TEST(PropertiesGeometryTest, GivenTableIsCheckedAtItsWidth) {
  const Tensor table = RandomTensor(DType::kFloat32, {300, 6}, 3, "table");
  Arguments arguments;
  arguments.Set("table", table.view());
  for (const PropertyResult& result : Check("learned", arguments)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
  EXPECT_THAT(CheckOne("learned", "linear_shift", arguments).worked_case,
              HasSubstr("Width 6"));
}

TEST(PropertiesGeometryTest, GivenBiasesAreCheckedWithTheirHeads) {
  const Tensor table = RandomTensor(DType::kFloat32, {32, 3}, 3, "table");
  Arguments arguments;
  arguments.Set("table", table.view());
  for (const PropertyResult& result : Check("t5_bias", arguments)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
  EXPECT_THAT(
      CheckOne("t5_bias", "permutation_equivariance", arguments).worked_case,
      HasSubstr("3 heads"));
}

TEST(PropertiesGeometryTest, TableOfTwoRowsIsNotRunAndNotCalledALie) {
  Arguments tiny;
  tiny.Set("max_length", int64_t{2});
  const auto results = Check("learned", tiny);
  const auto& equivariance = Find(results, "joint_equivariance");
  EXPECT_EQ(equivariance.verdict, Verdict::kNotApplicable);
  EXPECT_TRUE(equivariance.as_promised);
  EXPECT_THAT(equivariance.worked_case, HasSubstr("past the table's 2 rows"));
}

TEST(PropertiesGeometryTest, ManyHeadsAreNotRun) {
  Arguments many;
  many.Set("slopes", std::vector<double>(2000, 0.1));
  EXPECT_EQ(CheckOne("alibi", "joint_equivariance", many).verdict,
            Verdict::kNotApplicable);
}

TEST(PropertiesGeometryTest, NumbersThatOverflowFailAndStayFinite) {
  const double largest = std::numeric_limits<double>::max();
  Arguments steep;
  steep.Set("slopes", std::vector<double>{largest, largest});
  for (const PropertyResult& result : Check("alibi", steep)) {
    EXPECT_TRUE(std::isfinite(result.measured)) << result.property;
  }
  EXPECT_EQ(CheckOne("alibi", "boundedness", steep).verdict, Verdict::kFails);
}

// --- lies ---

// The formula of one scheme under the promises of another.
PropertyResult Lie(absl::string_view formula, absl::string_view promises,
                   absl::string_view property) {
  SchemeInfo info = *FindScheme(formula);
  info.name = "liar";
  info.promises = FindScheme(promises)->promises;
  const auto scheme = MakeScheme(info, {});
  return Find(*CheckProperties(**scheme, info.promises, StopCheck()), property);
}

TEST(LiarTest, TableThatPromisesALinearShiftIsFoundOut) {
  const auto result = Lie("learned", "sinusoidal", "linear_shift");
  EXPECT_EQ(result.promise, Promise::Answer::kYes);
  EXPECT_FALSE(result.as_promised);
}

TEST(LiarTest, BucketsThatPromiseDecayAreFoundOut) {
  EXPECT_FALSE(Lie("t5_bias", "alibi", "monotonic_decay").as_promised);
  EXPECT_FALSE(Lie("t5_bias", "alibi", "uniqueness").as_promised);
}

TEST(LiarTest, PenaltyThatPromisesBoundsIsFoundOut) {
  EXPECT_FALSE(Lie("alibi", "t5_bias", "boundedness").as_promised);
}

TEST(LiarTest, CodeThatPromisesToBeNoneIsFoundOut) {
  EXPECT_FALSE(
      Lie("sinusoidal", "none", "permutation_equivariance").as_promised);
  EXPECT_FALSE(Lie("sinusoidal", "none", "shift_invariance").as_promised);
}

TEST(LiarTest, TurningWithoutSayingSoIsFoundOut) {
  const auto result = Lie("rope", "none", "norm_preservation");
  EXPECT_EQ(result.verdict, Verdict::kHolds);
  EXPECT_FALSE(result.as_promised);
}

// What a formula shows under the promises of a scheme.
template <typename Formula>
std::vector<PropertyResult> CheckFormula(absl::string_view promises) {
  SchemeInfo info = *FindScheme(promises);
  info.make =
      [](const Arguments&) -> absl::StatusOr<std::unique_ptr<SchemeFormula>> {
    return std::make_unique<Formula>();
  };
  return *CheckProperties(**MakeScheme(info, {}), info.promises, StopCheck());
}

// A rotation whose cosines and sines have a factor.
class ScaledRotation final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(
      const Geometry& geometry) const override {
    Rotation rotation;
    rotation.frequencies.assign(geometry.dim / 2, 0.5);
    rotation.attention_factor = 1.2;
    return rotation;
  }
};

TEST(LiarTest, FactorBreaksNormsButNotTheRelativeRotation) {
  const auto results = CheckFormula<ScaledRotation>("rope");
  EXPECT_NEAR(Find(results, "norm_preservation").measured, 0.2, 1e-9);
  EXPECT_FALSE(Find(results, "norm_preservation").as_promised);
  EXPECT_TRUE(Find(results, "relative_rotation").as_promised);
}

template <typename Bias>
class BiasFormula final : public SchemeFormula {
 public:
  absl::StatusOr<CompiledScheme> Compile(const Geometry&) const override {
    return std::make_unique<Bias>();
  }
};

// Says the slopes of the paper and adds others.
class CrookedBias final : public ScoreBias {
 public:
  double At(int64_t head, int64_t query, int64_t key) const override {
    return -std::exp2(-2.0 * static_cast<double>(head)) *
           static_cast<double>(query - key);
  }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
  std::vector<double> slopes() const override {
    std::vector<double> said;
    for (int h = 1; h <= 8; ++h) said.push_back(std::exp2(-h));
    return said;
  }
};

TEST(LiarTest, SlopesThatAreNotWhatIsAddedAreFoundOut) {
  const auto results = CheckFormula<BiasFormula<CrookedBias>>("alibi");
  EXPECT_FALSE(Find(results, "slopes_geometric").as_promised);
}

// Is no number at one distance.
class BrokenBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query - key == 10 ? std::nan("") : -static_cast<double>(query - key);
  }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, NaNFailsAndStaysFinite) {
  const auto results = CheckFormula<BiasFormula<BrokenBias>>("alibi");
  EXPECT_FALSE(Find(results, "monotonic_decay").as_promised);
  EXPECT_FALSE(Find(results, "uniqueness").as_promised);
  for (const PropertyResult& result : results) {
    EXPECT_TRUE(std::isfinite(result.measured)) << result.property;
  }
}

// Depends on the query's own position, far out.
class DriftingBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return -static_cast<double>(query - key) / static_cast<double>(query + 1);
  }
  bool is_small() const override { return true; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, BiasOfAbsolutePositionsIsNotShiftInvariant) {
  const auto results = CheckFormula<BiasFormula<DriftingBias>>("alibi");
  EXPECT_FALSE(Find(results, "shift_invariance").as_promised);
}

// Says nothing sensible of keys after the query, as it need not.
class OneSidedBias final : public ScoreBias {
 public:
  double At(int64_t, int64_t query, int64_t key) const override {
    return query < key ? 5 * std::sin(static_cast<double>(query))
                       : -static_cast<double>(query - key);
  }
  bool depends_on_offset_alone() const override { return false; }
  bool is_small() const override { return false; }
  bool is_causal() const override { return true; }
};

TEST(LiarTest, CausalBiasIsNotHeldToLaterKeys) {
  for (const PropertyResult& result :
       CheckFormula<BiasFormula<OneSidedBias>>("alibi")) {
    EXPECT_TRUE(result.as_promised) << result.worked_case;
  }
}

// --- naive encodings ---

PropertyResult Naive(absl::string_view name, absl::string_view property) {
  for (const NaiveEncoding& encoding : NaiveEncodings()) {
    if (encoding.info.name == name) {
      return Find(CheckNaive(encoding), property);
    }
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(NaiveTest, EachIsAsItsFileSays) {
  ASSERT_EQ(NaiveEncodings().size(), 3u);
  for (const NaiveEncoding& encoding : NaiveEncodings()) {
    for (const PropertyResult& result : CheckNaive(encoding)) {
      EXPECT_TRUE(result.as_promised)
          << encoding.info.name << " " << result.property << ": "
          << result.worked_case;
    }
  }
}

TEST(NaiveTest, IntegersAreUnbounded) {
  EXPECT_EQ(Naive("integer", "boundedness").verdict, Verdict::kFails);
  EXPECT_EQ(Naive("integer", "length_independence").verdict, Verdict::kHolds);
}

TEST(NaiveTest, NormalisedPositionsDependOnTheLength) {
  EXPECT_EQ(Naive("normalised", "length_independence").verdict,
            Verdict::kFails);
  EXPECT_EQ(Naive("normalised", "boundedness").verdict, Verdict::kHolds);
}

TEST(NaiveTest, OneHotPositionsAreNotSmoothAndNeedAMaximum) {
  EXPECT_EQ(Naive("one_hot", "smoothness").verdict, Verdict::kFails);
  EXPECT_EQ(Naive("one_hot", "open_ended").verdict, Verdict::kFails);
  EXPECT_EQ(Naive("one_hot", "boundedness").verdict, Verdict::kHolds);
}

TEST(NaiveTest, SinusoidalPassesTheSameRules) {
  for (const PropertyResult& result :
       CheckCodeRules(*MustMake("sinusoidal"), {kYes, kYes, kYes})) {
    EXPECT_EQ(result.verdict, Verdict::kHolds)
        << result.property << ": " << result.worked_case;
  }
  EXPECT_EQ(CheckOne("sinusoidal", "boundedness").verdict, Verdict::kHolds);
}

TEST(NaiveTest, RulesSeeThroughATable) {
  // Stretched tables depend on the length; random rows are not smooth, and end.
  Arguments stretched;
  stretched.Set("max_length", int64_t{100});
  stretched.Set("policy", std::string("INTERPOLATE"));
  const auto results =
      CheckCodeRules(*MustMake("learned", stretched), {kNo, kNo, kYes});
  EXPECT_EQ(Find(results, "length_independence").verdict, Verdict::kFails);
  const auto plain = CheckCodeRules(*MustMake("learned"), {kYes, kNo, kNo});
  for (const PropertyResult& result : plain) {
    EXPECT_TRUE(result.as_promised) << result.worked_case;
  }
}

}  // namespace
}  // namespace locus
