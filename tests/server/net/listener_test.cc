#include "server/net/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/admission/memory_budget.h"
#include "server/net/connection_guard.h"
#include "server/net/socket.h"
#include "tests/server/net/socket_testing.h"

namespace locus::server {
namespace {

TEST(ListenerTest, CountsConnectionsUntilTheyAreShutDown) {
  const auto listener = Listener::Bind("127.0.0.1:0", 2);
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::atomic<int> accepted{-1};
  std::atomic<int> count{0};
  (*listener)->Start([&](int, int connection) {
    accepted = connection;
    ++count;
  });
  const int client = ConnectTo((*listener)->port());
  ASSERT_TRUE(Await([&] { return count == 1; }));
  EXPECT_EQ((*listener)->open_connections(), 1);
  // gRPC ends a connection in this way.
  shutdown(accepted, SHUT_RDWR);
  close(accepted);
  EXPECT_TRUE(Await([&] { return (*listener)->open_connections() == 0; }));
  char byte = 0;
  EXPECT_EQ(read(client, &byte, 1), 0);
  close(client);
}

TEST(ListenerTest, ClosesConnectionsAboveTheLimit) {
  const auto listener = Listener::Bind("127.0.0.1:0", 1);
  ASSERT_TRUE(listener.ok());
  std::vector<int> accepted;
  (*listener)->Start(
      [&](int, int connection) { accepted.push_back(connection); });
  const int first = ConnectTo((*listener)->port());
  const int second = ConnectTo((*listener)->port());
  char byte = 0;
  EXPECT_LE(read(second, &byte, 1), 0);
  EXPECT_TRUE(Await([&] { return (*listener)->rejected_connections() == 1; }));
  EXPECT_EQ((*listener)->accepted_connections(), 1);
  (*listener)->Stop();
  ASSERT_EQ(accepted.size(), 1u);
  for (const int fd : {first, second, accepted[0]}) close(fd);
}

// Whether the peer of `client` has closed the connection.
bool IsClosed(int client) {
  char byte = 0;
  const ssize_t n = recv(client, &byte, 1, MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

// A listener with two connections, whose owner does nothing with them.
class OpenConnectionsTest : public testing::Test {
 protected:
  void Open(ConnectionGuard* guard) {
    auto listener = Listener::Bind("127.0.0.1:0", 2);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    listener_->Start(
        [this](int, int connection) {
          accepted_.push_back(connection);
          ++count_;
        },
        guard);
    for (int i = 0; i < 2; ++i) {
      clients_.push_back(ConnectTo(listener_->port()));
      ASSERT_TRUE(Await([&] { return count_ == i + 1; }));
    }
  }
  void TearDown() override {
    listener_->Stop();
    for (const int fd : clients_) close(fd);
    for (const int fd : accepted_) close(fd);
  }

  const MemoryBudget budget_{int64_t{1} << 30};
  ConnectionGuard guard_{{.max_streams = 1}, &budget_};
  std::unique_ptr<Listener> listener_;
  std::atomic<int> count_{0};
  std::vector<int> accepted_;
  std::vector<int> clients_;
};

TEST_F(OpenConnectionsTest, CloseConnectionClosesThatOfThePeer) {
  Open(nullptr);
  EXPECT_EQ(listener_->CloseConnection("ipv4:127.0.0.1:1"), 0);
  EXPECT_EQ(listener_->CloseConnection(PeerOf(accepted_[1])), 1);
  EXPECT_TRUE(Await([&] { return listener_->open_connections() == 1; }));
  EXPECT_TRUE(IsClosed(clients_[1]));
  EXPECT_FALSE(IsClosed(clients_[0]));
}

TEST_F(OpenConnectionsTest, CloseAllWorksAfterStop) {
  Open(nullptr);
  listener_->Stop();
  EXPECT_FALSE(IsClosed(clients_[0]));
  EXPECT_EQ(listener_->CloseAll(), 2);
  EXPECT_TRUE(IsClosed(clients_[0]));
  EXPECT_TRUE(IsClosed(clients_[1]));
}

TEST_F(OpenConnectionsTest, ClosesConnectionsAsTheGuardSays) {
  Open(&guard_);
  const std::string peer = PeerOf(accepted_[0]);
  const auto unknown = guard_.Find("");
  EXPECT_NE(guard_.Find(peer), unknown);
  std::vector<char> bytes(1 << 16);
  EXPECT_TRUE(Await([&] {
    send(clients_[0], bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    recv(accepted_[0], bytes.data(), bytes.size(), MSG_DONTWAIT);
    return guard_.closed(CloseReason::kBytes) == 1;
  }));
  EXPECT_TRUE(Await([&] { return listener_->open_connections() == 1; }));
  EXPECT_TRUE(IsClosed(clients_[0]));
  EXPECT_FALSE(IsClosed(clients_[1]));
  EXPECT_EQ(guard_.Find(peer), unknown);
  // The address has to wait before it may connect again.
  const int again = ConnectTo(listener_->port());
  EXPECT_TRUE(Await([&] { return guard_.closed(CloseReason::kBackoff) == 1; }));
  EXPECT_TRUE(Await([&] { return IsClosed(again); }));
  close(again);
}

TEST_F(OpenConnectionsTest, ChecksAConnectionThatWasIdle) {
  Open(&guard_);
  // Becomes active, and inactive again after a second.
  ASSERT_EQ(write(clients_[0], "x", 1), 1);
  usleep(1'500'000);
  const auto connection = guard_.Find(PeerOf(accepted_[0]));
  for (int i = 0; i < 4001; ++i) {
    connection->OnCallArrived(0);
    connection->OnCallEnded(CallEnd::kUnknownMethod, Clock::duration());
  }
  ASSERT_EQ(write(clients_[0], "x", 1), 1);
  EXPECT_TRUE(Await([&] { return guard_.closed(CloseReason::kResets) == 1; }));
}

TEST(ListenerTest, ReportsWhyBindFailed) {
  const auto first = Listener::Bind("127.0.0.1:0", 1);
  ASSERT_TRUE(first.ok());
  const std::string address = absl::StrCat("127.0.0.1:", (*first)->port());
  EXPECT_EQ(
      Listener::Bind(address, 1).status().message(),
      absl::StrCat("cannot listen on ", address, ": Address already in use"));
  const std::string path = "/" + std::string(150, 'a');
  EXPECT_EQ(Listener::Bind("unix:" + path, 1).status().message(),
            absl::StrCat("cannot listen on ", path,
                         ": the path is too long for a socket"));
}

}  // namespace
}  // namespace locus::server
