// Tests that the naive encodings fail the checks that they should fail.
#include "core/properties/naive.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/properties/properties.h"
#include "tests/core/properties/property_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::CheckOne;
using testing::Find;
using testing::MustMake;

PropertyResult Naive(absl::string_view name, absl::string_view property) {
  for (const NaiveEncoding& encoding : NaiveEncodings()) {
    if (encoding.info.name == name) {
      return Find(CheckNaive(encoding), property);
    }
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(NaiveTest, KeepTheirPromises) {
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

TEST(NaiveTest, LearnedTablesBreakTheRules) {
  // An interpolated table depends on the sequence length. A plain table has
  // random rows, which are not smooth, and a last position.
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
