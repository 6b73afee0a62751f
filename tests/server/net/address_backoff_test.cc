#include "server/net/address_backoff.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(AddressOfTest, RemovesThePort) {
  EXPECT_EQ(AddressOf("ipv4:192.0.2.1:80"), "ipv4:192.0.2.1");
  EXPECT_EQ(AddressOf(""), "");
}

TEST(AddressOfTest, KeepsThePrefixOfIpv6Addresses) {
  EXPECT_EQ(AddressOf("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:80"),
            "ipv6:2001:db8:1:2::");
  EXPECT_EQ(AddressOf("ipv6:%5B2001:db8:1:2::9%5D:81"), "ipv6:2001:db8:1:2::");
  EXPECT_EQ(AddressOf("ipv6:%5Bfe80::1%252%5D:80"), "ipv6:fe80::");
}

class AddressBackoffTest : public testing::Test {
 protected:
  // Asserts that "a" must wait for `delay` from now on, and lets it pass.
  void ExpectDelay(Clock::duration delay) {
    now_ += delay - milliseconds(1);
    EXPECT_FALSE(backoff_.MayConnect("a", now_));
    now_ += milliseconds(1);
    EXPECT_TRUE(backoff_.MayConnect("a", now_));
  }

  AddressBackoff backoff_;
  Clock::time_point now_{};
};

TEST_F(AddressBackoffTest, DelayDoublesUpToTheMaximum) {
  EXPECT_TRUE(backoff_.MayConnect("a", now_));
  for (const int delay : {1, 2, 4, 8, 16, 32, 64, 64}) {
    backoff_.OnClosed("a", now_);
    ExpectDelay(seconds(delay));
  }
}

TEST_F(AddressBackoffTest, OtherAddressesMayConnect) {
  backoff_.OnClosed("a", now_);
  EXPECT_TRUE(backoff_.MayConnect("b", now_));
}

TEST_F(AddressBackoffTest, ForgetsClosuresAfterAWhile) {
  backoff_.OnClosed("a", now_);
  now_ += seconds(1 + 64) - milliseconds(1);
  backoff_.OnClosed("a", now_);
  ExpectDelay(seconds(2));
  now_ += seconds(64);
  backoff_.OnClosed("a", now_);
  ExpectDelay(seconds(1));
}

TEST_F(AddressBackoffTest, RemembersALimitedNumberOfAddresses) {
  backoff_.OnClosed("oldest", now_);
  for (size_t i = 1; i <= AddressBackoff::kMaxAddresses; ++i) {
    backoff_.OnClosed(absl::StrCat(i), now_ + milliseconds(1));
  }
  EXPECT_EQ(backoff_.address_count(), AddressBackoff::kMaxAddresses);
  EXPECT_TRUE(backoff_.MayConnect("oldest", now_));
  EXPECT_FALSE(backoff_.MayConnect("1", now_));
  // Expired ones are forgotten together.
  backoff_.OnClosed("new", now_ + seconds(70));
  EXPECT_EQ(backoff_.address_count(), 1u);
}

}  // namespace
}  // namespace locus::server
