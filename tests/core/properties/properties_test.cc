// Tests of CheckProperties() on every registered scheme, and of its cost.
#include "core/properties/properties.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/properties/property_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::Check;
using testing::MustMake;

class PropertiesTest : public ::testing::TestWithParam<SchemeInfo> {};

TEST_P(PropertiesTest, AreAsPromised) {
  for (const PropertyResult& result : Check(GetParam().name)) {
    EXPECT_TRUE(result.as_promised)
        << result.property << ": " << result.worked_case;
  }
}

TEST_P(PropertiesTest, FollowTheOrderOfThePromises) {
  const auto results = Check(GetParam().name);
  ASSERT_GE(results.size(), static_cast<size_t>(kPropertyCount));
  for (int n = 0; n < kPropertyCount; ++n) {
    EXPECT_EQ(results[n].property, NameOf(static_cast<Property>(n)));
    EXPECT_EQ(results[n].promise, GetParam().promises[n].answer);
    EXPECT_FALSE(results[n].worked_case.empty());
  }
}

TEST_P(PropertiesTest, DoNotDependOnThePromises) {
  // With inverted promises, all measurements stay the same and none agrees with
  // its promise.
  Promises inverted = GetParam().promises;
  for (Promise& promise : inverted) {
    promise = promise.answer == Promise::Answer::kYes ? kNo : kYes;
  }
  const auto scheme = MustMake(GetParam().name);
  const auto plain =
      *CheckProperties(*scheme, GetParam().promises, CancellationCheck());
  const auto other = *CheckProperties(*scheme, inverted, CancellationCheck());
  ASSERT_EQ(plain.size(), other.size());
  for (int n = 0; n < kPropertyCount; ++n) {
    EXPECT_EQ(other[n].verdict, plain[n].verdict);
    EXPECT_EQ(other[n].measured, plain[n].measured);
    EXPECT_FALSE(other[n].as_promised) << other[n].property;
  }
}

TEST_P(PropertiesTest, AreDeterministic) {
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
                         [](const auto& test) {
                           return std::string(test.param.name);
                         });

// A T5 bias that counts how often it is compiled.
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

TEST(PropertiesCostTest, SchemeIsCompiledAtMostFiftyTimes) {
  SchemeInfo info = *FindScheme("t5_bias");
  info.make =
      [](const Arguments&) -> absl::StatusOr<std::unique_ptr<SchemeFormula>> {
    return std::make_unique<CountedBias>();
  };
  CountedBias::count() = 0;
  EXPECT_TRUE(CheckProperties(**MakeScheme(info, {}), info.promises,
                              CancellationCheck())
                  .ok());
  EXPECT_LE(CountedBias::count(), 50);
}

TEST(PropertiesCostTest, CancellationIsPolledBetweenChecks) {
  int polls = 0;
  const auto results =
      CheckProperties(*MustMake("rope"), FindScheme("rope")->promises, [&] {
        return ++polls < 3 ? absl::OkStatus() : absl::CancelledError("enough");
      });
  EXPECT_TRUE(absl::IsCancelled(results.status()));
  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace locus
