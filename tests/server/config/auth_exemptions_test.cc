#include "server/config/auth_exemptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

TEST(AuthExemptionsTest, ParsesCommaSeparatedNames) {
  const auto some = ParseAuthExemptions("health, metrics");
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_TRUE(some->health);
  EXPECT_TRUE(some->metrics);
  EXPECT_FALSE(some->reflection);
}

TEST(AuthExemptionsTest, EmptyListExemptsNothing) {
  const auto none = ParseAuthExemptions("");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->health || none->metrics || none->reflection);
}

TEST(AuthExemptionsTest, RejectsUnknownNames) {
  EXPECT_THAT(
      std::string(ParseAuthExemptions("health,all").status().message()),
      ::testing::HasSubstr("\"all\" is none of health, reflection, metrics"));
}

}  // namespace
}  // namespace locus::server
