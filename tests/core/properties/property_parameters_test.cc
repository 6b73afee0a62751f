// Tests that schemes keep their promises with parameters other than the
// defaults, and that parameters which fix the geometry are respected.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/properties/properties.h"
#include "tests/core/properties/property_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Check;
using testing::CheckOne;
using testing::ExpectPromisesKept;
using testing::Find;
using ::testing::HasSubstr;
using testing::RandomTensor;

TEST(ParametersTest, TablesOfEveryPolicyAndLengthKeepTheirPromises) {
  for (const char* const policy :
       {"ERROR", "CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE"}) {
    for (const int64_t length : {1, 2, 3, 8, 9, 17, 64, 100, 1000}) {
      SCOPED_TRACE(::testing::Message() << policy << " " << length);
      Arguments arguments;
      arguments.Set("max_length", length);
      arguments.Set("policy", std::string(policy));
      ExpectPromisesKept("learned", arguments);
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
        ExpectPromisesKept("t5_bias", arguments);
      }
    }
  }
}

TEST(ParametersTest, SlopesOfEverySizeKeepTheirPromises) {
  for (const double bias_max : {0.0, 1.0, 20.0, 1000.0}) {
    SCOPED_TRACE(bias_max);
    Arguments arguments;
    arguments.Set("bias_max", bias_max);
    ExpectPromisesKept("alibi", arguments);
  }
}

TEST(ParametersTest, RotationsOfEveryWidthKeepTheirPromises) {
  for (const int64_t width : {2, 64, 256, 1024}) {
    SCOPED_TRACE(width);
    Arguments arguments;
    arguments.Set("rotary_dim", width);
    ExpectPromisesKept("rope", arguments);
  }
}

TEST(ParametersTest, ScalingsOfEveryKindKeepTheirPromises) {
  for (const Parameter& parameter : FindScheme("rope")->parameters) {
    if (parameter.kind != ParameterKind::kGroup) continue;
    for (const double factor : {1.0, 4.0, 1000.0}) {
      SCOPED_TRACE(::testing::Message() << parameter.name << " " << factor);
      Arguments arguments;
      arguments.Set(parameter.name, true);
      arguments.Set(absl::StrCat(parameter.name, ".factor"), factor);
      ExpectPromisesKept("rope", arguments);
    }
  }
}

TEST(ParametersTest, ShortLengthsAndFewPairsKeepTheirPromises) {
  Arguments dynamic;
  dynamic.Set("dynamic_ntk", true);
  dynamic.Set("dynamic_ntk.factor", 4.0);
  dynamic.Set("dynamic_ntk.max_position", int64_t{8});
  ExpectPromisesKept("rope", dynamic);
  const auto shifted = CheckOne("rope", "shift_invariance", dynamic);
  EXPECT_EQ(shifted.verdict, Verdict::kFails);
  EXPECT_THAT(shifted.worked_case, HasSubstr("largest position"));
  for (const double share : {0.0, 0.1, 0.5}) {
    Arguments proportional;
    proportional.Set("proportional", true);
    proportional.Set("proportional.share", share);
    ExpectPromisesKept("rope", proportional);
  }
  Arguments longrope;
  longrope.Set("longrope", true);
  longrope.Set("longrope.long_factors", std::vector<double>(48, 3.0));
  ExpectPromisesKept("rope", longrope);
}

TEST(ParametersTest, DecaysOfEverySpeedKeepTheirPromises) {
  for (const double scale_base : {64.0, 512.0, 1e5}) {
    SCOPED_TRACE(scale_base);
    Arguments arguments;
    arguments.Set("scale_base", scale_base);
    ExpectPromisesKept("xpos", arguments);
    arguments.Set("centre", int64_t{0});
    EXPECT_EQ(CheckOne("xpos", "length_independence", arguments).promise,
              Promise::Answer::kYes);
    for (const char* const property :
         {"length_independence", "open_endedness"}) {
      EXPECT_TRUE(CheckOne("xpos", property, arguments).as_promised)
          << property;
    }
  }
  Arguments slow;
  slow.Set("scale_base", 1e5);
  EXPECT_EQ(CheckOne("xpos", "open_endedness", slow).verdict, Verdict::kHolds);
  EXPECT_EQ(CheckOne("xpos", "open_endedness").verdict, Verdict::kFails);
}

TEST(ParametersTest, FastFrequenciesAreNotSmooth) {
  for (const char* const scheme : {"sinusoidal", "rope", "xpos"}) {
    for (const double base : {0.01, 1.0, 10.0, 500000.0}) {
      SCOPED_TRACE(::testing::Message() << scheme << " " << base);
      Arguments arguments;
      arguments.Set("base", base);
      const auto result = CheckOne(scheme, "smoothness", arguments);
      EXPECT_TRUE(result.as_promised) << result.worked_case;
      EXPECT_EQ(result.verdict, base < 1 ? Verdict::kFails : Verdict::kHolds);
    }
  }
}

TEST(ParametersTest, AttentionFactorBreaksNormPreservation) {
  Arguments arguments;
  arguments.Set("yarn", true);
  arguments.Set("yarn.factor", 4.0);
  const auto result = CheckOne("rope", "norm_preservation", arguments);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNo);
  EXPECT_TRUE(result.as_promised);
}

TEST(ParametersTest, BiasTooSmallToMeasureIsNotRun) {
  Arguments flat;
  flat.Set("bias_max", 1000.0);
  const auto result = CheckOne("alibi", "permutation_equivariance", flat);
  EXPECT_EQ(result.verdict, Verdict::kUndefined);
  EXPECT_THAT(result.worked_case, HasSubstr("to tell distances apart"));
}

TEST(ParametersTest, UserSlopesBreakNoPromise) {
  for (const std::vector<double>& slopes :
       {std::vector<double>{0, 0, 0}, {-1, 1}, {1, 0.5, 0.4}, {0.1}}) {
    Arguments given;
    given.Set("slopes", slopes);
    ExpectPromisesKept("alibi", given);
  }
  Arguments given;
  given.Set("slopes", std::vector<double>{-1, 1});
  const auto result = CheckOne("alibi", "monotonic_decay", given);
  EXPECT_EQ(result.verdict, Verdict::kFails);
  EXPECT_EQ(result.promise, Promise::Answer::kNotApplicable);
  EXPECT_THAT(result.worked_case, HasSubstr("given by the caller"));
  // Shift invariance holds for any slopes and remains promised.
  EXPECT_EQ(CheckOne("alibi", "shift_invariance", given).promise,
            Promise::Answer::kYes);
}

TEST(ParametersTest, UserTablesBreakNoPromise) {
  const Tensor zeros = Tensor::Zeros(DType::kFloat32, {32, 4});
  Arguments given;
  given.Set("table", zeros.view());
  ExpectPromisesKept("learned", given);
  ExpectPromisesKept("t5_bias", given);
}

TEST(PropertiesGeometryTest, UserTableIsCheckedAtItsWidth) {
  const Tensor table = RandomTensor(DType::kFloat32, {300, 6}, 3, "table");
  Arguments arguments;
  arguments.Set("table", table.view());
  ExpectPromisesKept("learned", arguments);
  EXPECT_THAT(CheckOne("learned", "linear_shift", arguments).worked_case,
              HasSubstr("Width 6"));
}

TEST(PropertiesGeometryTest, UserBiasesAreCheckedWithTheirHeads) {
  const Tensor table = RandomTensor(DType::kFloat32, {32, 3}, 3, "table");
  Arguments arguments;
  arguments.Set("table", table.view());
  ExpectPromisesKept("t5_bias", arguments);
  EXPECT_THAT(
      CheckOne("t5_bias", "permutation_equivariance", arguments).worked_case,
      HasSubstr("3 heads"));
}

TEST(PropertiesGeometryTest, TableOfTwoRowsIsNotRun) {
  Arguments tiny;
  tiny.Set("max_length", int64_t{2});
  const auto results = Check("learned", tiny);
  const auto& equivariance = Find(results, "joint_equivariance");
  EXPECT_EQ(equivariance.verdict, Verdict::kUndefined);
  EXPECT_TRUE(equivariance.as_promised);
  EXPECT_THAT(equivariance.worked_case, HasSubstr("past the table's 2 rows"));
}

TEST(PropertiesGeometryTest, TooManyHeadsAreNotRun) {
  Arguments many;
  many.Set("slopes", std::vector<double>(2000, 0.1));
  EXPECT_EQ(CheckOne("alibi", "joint_equivariance", many).verdict,
            Verdict::kUndefined);
}

TEST(PropertiesGeometryTest, OverflowFailsAndIsReportedAsFinite) {
  const double largest = std::numeric_limits<double>::max();
  Arguments steep;
  steep.Set("slopes", std::vector<double>{largest, largest});
  for (const PropertyResult& result : Check("alibi", steep)) {
    EXPECT_TRUE(std::isfinite(result.measured)) << result.property;
  }
  EXPECT_EQ(CheckOne("alibi", "boundedness", steep).verdict, Verdict::kFails);
}

}  // namespace
}  // namespace locus
