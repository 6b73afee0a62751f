#include "client/cli/support/local_server_address.h"

#include "gtest/gtest.h"

namespace locus::client {
namespace {

TEST(LocalServerAddressTest, ReturnsSpecificAddressesUnchanged) {
  EXPECT_EQ(LocalServerAddress("127.0.0.1:7000"), "127.0.0.1:7000");
  EXPECT_EQ(LocalServerAddress("[::1]:7000"), "[::1]:7000");
  EXPECT_EQ(LocalServerAddress("unix:/run/locus"), "unix:/run/locus");
}

TEST(LocalServerAddressTest, ReplacesWildcardsByLoopback) {
  EXPECT_EQ(LocalServerAddress("0.0.0.0:7000"), "127.0.0.1:7000");
  EXPECT_EQ(LocalServerAddress("[::]:7000"), "[::1]:7000");
}

TEST(LocalServerAddressTest, DefaultsToPort50051OnLoopback) {
  for (const char* listen : {"", "0.0.0.0:0", "nowhere"}) {
    EXPECT_EQ(LocalServerAddress(listen), "127.0.0.1:50051");
  }
}

}  // namespace
}  // namespace locus::client
