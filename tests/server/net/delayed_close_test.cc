#include "server/net/delayed_close.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "tests/server/net/socket_testing.h"

namespace locus::server {
namespace {

class DelayedCloseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = Listener::Bind("127.0.0.1:0", 1);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    listener_->Start([this](int, int connection) { accepted_ = connection; });
    client_ = ConnectTo(listener_->port());
    ASSERT_TRUE(Await([&] { return accepted_ >= 0; }));
    listener_->Stop();
  }
  void TearDown() override {
    close(client_);
    close(accepted_);
  }

  std::unique_ptr<Listener> listener_;
  std::atomic<int> accepted_{-1};
  int client_ = -1;
};

TEST_F(DelayedCloseTest, ClosesConnectionsAfterTheDelay) {
  const DelayedClose closing(listener_.get(), std::chrono::milliseconds(1));
  char byte = 0;
  EXPECT_EQ(recv(client_, &byte, 1, 0), 0);
}

TEST_F(DelayedCloseTest, DoesNothingIfDestroyedBefore) {
  { const DelayedClose closing(listener_.get(), std::chrono::hours(1)); }
  char byte = 0;
  EXPECT_EQ(recv(client_, &byte, 1, MSG_DONTWAIT), -1);
}

TEST(NoListenerTest, DoesNothing) {
  const DelayedClose closing(nullptr, std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace locus::server
