#include "client/cli/support/local_server_address.h"

#include "gtest/gtest.h"

namespace locus::client {
namespace {

TEST(NeighbourTest, ListensWhereItWasTold) {
  EXPECT_EQ(NeighbourAt("127.0.0.1:7000"), "127.0.0.1:7000");
  EXPECT_EQ(NeighbourAt("[::1]:7000"), "[::1]:7000");
  EXPECT_EQ(NeighbourAt("unix:/run/locus"), "unix:/run/locus");
}

TEST(NeighbourTest, EverywhereIncludesLoopback) {
  EXPECT_EQ(NeighbourAt("0.0.0.0:7000"), "127.0.0.1:7000");
  EXPECT_EQ(NeighbourAt("[::]:7000"), "[::1]:7000");
}

TEST(NeighbourTest, IsAtItsUsualPlaceIfNobodySaysOtherwise) {
  for (const char* listen : {"", "0.0.0.0:0", "nowhere"}) {
    EXPECT_EQ(NeighbourAt(listen), "127.0.0.1:50051");
  }
}

}  // namespace
}  // namespace locus::client
