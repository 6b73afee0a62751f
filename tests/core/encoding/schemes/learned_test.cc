// Learned table: policies past its end, and seeds.
#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/core/encoding/schemes/scheme_testing.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::CodeRow;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeTensor;
using testing::MustMake;

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

TEST(LearnedTest, PolicySelectsTheCodePastTheTable) {
  EXPECT_THAT(CodeRow(*LearnedWith("CLAMP"), 7, 2), ElementsAre(20, 21));
  EXPECT_THAT(CodeRow(*LearnedWith("WRAP"), 7, 2), ElementsAre(10, 11));
  EXPECT_THAT(CodeRow(*LearnedWith("ZERO"), 7, 2), ElementsAre(0, 0));
  for (const char* policy :
       {"CLAMP", "WRAP", "ZERO", "RANDOM", "INTERPOLATE", "ERROR"}) {
    EXPECT_THAT(CodeRow(*LearnedWith(policy), 2, 2), ElementsAre(20, 21));
  }
}

TEST(LearnedTest, ErrorPolicyRejectsPositionsPastTheTable) {
  const absl::Status status =
      LearnedWith("ERROR")->Compile({.dim = 2, .max_position = 3}).status();
  EXPECT_EQ(FieldOf(status), "scheme.learned.policy");
  EXPECT_THAT(std::string(status.message()), HasSubstr("position 3"));
}

TEST(LearnedTest, RandomRowsAreDistinctAndRepeatable) {
  const auto scheme = LearnedWith("RANDOM");
  const auto row = CodeRow(*scheme, 7, 2);
  EXPECT_EQ(row, CodeRow(*scheme, 7, 2, 1000));
  EXPECT_NE(row, CodeRow(*scheme, 8, 2));
}

TEST(LearnedTest, InterpolationUsesHalfPixelCentres) {
  // Three rows cover six positions: position p reads row (p + 1/2) / 2 - 1/2.
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

TEST(LearnedTest, RejectsMaxLengthThatDiffersFromTheTable) {
  const Tensor table = MakeTensor(DType::kFloat32, {3, 1}, {1, 2, 3});
  Arguments arguments;
  arguments.Set("table", table.view());
  arguments.Set("max_length", int64_t{3});
  EXPECT_THAT(CodeRow(*MustMake("learned", arguments), 2, 1), ElementsAre(3));
  arguments.Set("max_length", int64_t{4});
  EXPECT_EQ(FieldOf(MakeScheme(*FindScheme("learned"), arguments).status()),
            "learned.max_length");
}

TEST(LearnedTest, RejectsWidthThatDiffersFromTheTable) {
  EXPECT_EQ(FieldOf(LearnedWith("CLAMP")->Compile({.dim = 3}).status()),
            "scheme.learned.table.shape");
}

}  // namespace
}  // namespace locus
