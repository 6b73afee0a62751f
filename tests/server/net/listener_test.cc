#include "server/net/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

// Waits until `condition` holds; false after ten seconds.
bool Await(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

int ConnectTo(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
            0);
  return fd;
}

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
