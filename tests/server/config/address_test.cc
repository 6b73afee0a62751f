#include "server/config/address.h"

#include <gtest/gtest.h>

namespace locus::server {
namespace {

TEST(AddressTest, ParsesHostAndPort) {
  const auto name = ParseAddress("example.org:443");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_EQ(name->host, "example.org");
  EXPECT_EQ(name->port, 443);
  const auto v6 = ParseAddress("[::1]:0");
  ASSERT_TRUE(v6.ok()) << v6.status();
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);
}

TEST(AddressTest, RejectsMalformedAddresses) {
  for (const char* text :
       {"", "nowhere", ":1", "a:", "a:b", "a:+1", "a:65536", "a:000001",
        "a b:1", "a\n:1", "[::1:1", "[]:1", "::1:1", "unix:/run/x"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
}

TEST(AddressTest, UnixSocketsAreValidForRpcs) {
  EXPECT_TRUE(CheckListenAddress("unix:/run/locus.sock").ok());
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:1").ok());
  EXPECT_FALSE(CheckListenAddress("unix:").ok());
  EXPECT_FALSE(CheckListenAddress("nowhere").ok());
}

TEST(AddressTest, LoopbackAndUnixSocketsAreLocal) {
  for (const char* local : {"", "unix:/run/x", "127.0.0.1:1", "127.9.9.9:1",
                            "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(IsLocalAddress(local)) << local;
  }
  for (const char* other : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1",
                            "127.example:1", "128.0.0.1:1", "nonsense"}) {
    EXPECT_FALSE(IsLocalAddress(other)) << other;
  }
}

}  // namespace
}  // namespace locus::server
