#include "client/load/connections.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "grpcpp/channel.h"
#include "gtest/gtest.h"

namespace locus::client::load {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMilli = 1000 * 1000;

TEST(ConnectionsTest, ReportsUnreachableServerInTime) {
  const auto channels = OpenConnections("127.0.0.1:1", 2, 300 * kMilli);
  EXPECT_EQ(channels.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(channels.status().message()),
              HasSubstr("cannot reach 127.0.0.1:1: 0 of 2"));
}

}  // namespace
}  // namespace locus::client::load
