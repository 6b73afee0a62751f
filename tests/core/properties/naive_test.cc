// Tests that the naive encodings fail the checks that they should fail.
#include "core/properties/naive.h"

#include <string>

#include <gtest/gtest.h>

#include "core/properties/properties.h"
#include "tests/core/properties/property_testing.h"

namespace locus {
namespace {

using testing::Find;

PropertyResult Naive(absl::string_view name, absl::string_view property) {
  for (const SchemeInfo& encoding : NaiveEncodings()) {
    if (encoding.name == name) {
      return Find(CheckNaive(encoding), property);
    }
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(NaiveTest, KeepTheirPromises) {
  ASSERT_EQ(NaiveEncodings().size(), 3u);
  for (const SchemeInfo& encoding : NaiveEncodings()) {
    for (const PropertyResult& result : CheckNaive(encoding)) {
      EXPECT_TRUE(result.as_promised) << encoding.name << " " << result.property
                                      << ": " << result.worked_case;
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
  EXPECT_EQ(Naive("one_hot", "open_endedness").verdict, Verdict::kFails);
  EXPECT_EQ(Naive("one_hot", "boundedness").verdict, Verdict::kHolds);
}

}  // namespace
}  // namespace locus
