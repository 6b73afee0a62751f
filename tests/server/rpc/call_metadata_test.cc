#include "server/rpc/call_metadata.h"

#include <gtest/gtest.h>

#include <string>

namespace locus::server {
namespace {

TEST(RequestIdTest, AcceptsVisibleAsciiUpTo128Characters) {
  EXPECT_TRUE(IsRequestId("a"));
  EXPECT_TRUE(IsRequestId(std::string(128, '~')));
  EXPECT_FALSE(IsRequestId(""));
  EXPECT_FALSE(IsRequestId(std::string(129, 'a')));
  EXPECT_FALSE(IsRequestId("a b"));
  EXPECT_FALSE(IsRequestId("gr\u00fcn"));
}

TEST(TraceparentTest, AcceptsOnlyTheW3cFormat) {
  const std::string good =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_TRUE(IsTraceparent(good));
  EXPECT_FALSE(IsTraceparent(""));
  EXPECT_FALSE(IsTraceparent(good + "0"));
  EXPECT_FALSE(IsTraceparent("ff" + good.substr(2)));
  EXPECT_FALSE(
      IsTraceparent("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"));
  EXPECT_FALSE(
      IsTraceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
  EXPECT_FALSE(
      IsTraceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

}  // namespace
}  // namespace locus::server
