#include "core/encoding/parameters.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/core_testing.h"

namespace locus {
namespace {

using testing::With;

TEST(ArgumentsTest, RejectsWrongRangesAndKinds) {
  const auto rejected_field = [](absl::string_view scheme,
                                 Arguments arguments) {
    return FieldOf(
        MakeScheme(*FindScheme(scheme), std::move(arguments)).status());
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const double base : {0.0, -1.0, inf, -inf, std::nan("")}) {
    EXPECT_EQ(rejected_field("rope", With("base", base)), "rope.base") << base;
    EXPECT_EQ(rejected_field("sinusoidal", With("base", base)),
              "sinusoidal.base");
  }
  EXPECT_EQ(rejected_field("rope", With("base", int64_t{5})), "rope.base");
  EXPECT_EQ(rejected_field("rope", With("layout", std::string("SIDEWAYS"))),
            "rope.layout");
  EXPECT_EQ(rejected_field("rope", With("colour", 1.0)), "rope.colour");
  EXPECT_EQ(
      rejected_field("alibi", With("slopes", std::vector<double>{1, inf})),
      "alibi.slopes[1]");
  EXPECT_EQ(rejected_field("learned", With("max_length", int64_t{0})),
            "learned.max_length");
  const Tensor flags = Tensor::Zeros(DType::kBool, {2, 2});
  EXPECT_EQ(rejected_field("learned", With("table", flags.view())),
            "learned.table.dtype");
}

const std::vector<Parameter>& Declared() {
  static const auto* const declared =
      new std::vector<Parameter>{{.kind = ParameterKind::kNumber,
                                  .name = "size",
                                  .description = "",
                                  .default_number = 3,
                                  .min = 1,
                                  .max = 9},
                                 {.kind = ParameterKind::kGroup,
                                  .name = "group",
                                  .description = "",
                                  .category = "sort"},
                                 {.kind = ParameterKind::kNumber,
                                  .name = "group.factor",
                                  .description = "",
                                  .default_number = 2},
                                 {.kind = ParameterKind::kGroup,
                                  .name = "other",
                                  .description = "",
                                  .category = "sort"}};
  return *declared;
}

TEST(ArgumentsTest, CheckSetsDefaults) {
  Arguments arguments;
  ASSERT_TRUE(arguments.Check(Declared()).ok());
  EXPECT_EQ(arguments.Number("size"), 3);
  EXPECT_FALSE(arguments.IsGiven("size"));
  Arguments given = With("size", 4.0);
  ASSERT_TRUE(given.Check(Declared()).ok());
  EXPECT_EQ(given.Number("size"), 4);
  EXPECT_TRUE(given.IsGiven("size"));
}

TEST(ArgumentsTest, ParametersOfAnUnsetGroupHaveNoValue) {
  Arguments arguments;
  ASSERT_TRUE(arguments.Check(Declared()).ok());
  EXPECT_FALSE(arguments.Has("group.factor"));
  Arguments with_group = With("group", true);
  ASSERT_TRUE(with_group.Check(Declared()).ok());
  EXPECT_EQ(with_group.Within("group").Number("factor"), 2);
}

TEST(ArgumentsTest, RejectsTwoGroupsOfOneCategory) {
  Arguments both = With("group", true, With("other", true));
  EXPECT_EQ(FieldOf(both.Check(Declared())), "other");
}

}  // namespace
}  // namespace locus
