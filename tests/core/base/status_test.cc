#include "core/base/status.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(StatusTest, WithinPrependsToFieldAndMessage) {
  const absl::Status inner = InvalidField("base", "is -1; must be positive");
  const absl::Status outer = Within("scheme.rope", inner);
  EXPECT_EQ(FieldOf(outer), "scheme.rope.base");
  EXPECT_EQ(outer.message(), "scheme.rope.base: is -1; must be positive");
  EXPECT_EQ(outer.code(), absl::StatusCode::kInvalidArgument);
}

TEST(StatusTest, WithinKeepsTheLimit) {
  const absl::Status limit = Within("a", LimitExceeded("b", "max_c", "is 9"));
  EXPECT_EQ(LimitOf(limit), "max_c");
  EXPECT_EQ(limit.code(), absl::StatusCode::kResourceExhausted);
}

TEST(StatusTest, RenamedReplacesTheBeginningOfAField) {
  const absl::Status status = InvalidField("scheme.rope.base", "is -1");
  const absl::Status renamed = Renamed("scheme", "schemes[2]", status);
  EXPECT_EQ(FieldOf(renamed), "schemes[2].rope.base");
  EXPECT_EQ(renamed.message(), "schemes[2].rope.base: is -1");
  EXPECT_EQ(Renamed("options", "other", status), status);
}

TEST(StatusTest, OtherErrorsHaveNoField) {
  EXPECT_EQ(FieldOf(absl::InternalError("x")), "");
  EXPECT_EQ(LimitOf(InvalidField("a", "is 1")), "");
}

}  // namespace
}  // namespace locus
