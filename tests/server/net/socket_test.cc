#include "server/net/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/server/net/socket_testing.h"

namespace locus::server {
namespace {

// A connection over loopback within the process.
class Pair {
 public:
  // Both ends are of the IPv6 address `to`.
  explicit Pair(const in6_addr& to) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    const int listening = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int no = 0;
    setsockopt(listening, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    EXPECT_EQ(bind(listening, generic, length), 0);
    EXPECT_EQ(listen(listening, 1), 0);
    getsockname(listening, generic, &length);
    address.sin6_addr = to;
    client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(client, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    EXPECT_EQ(connect(client, generic, length), 0);
    getsockname(client, generic, &length);
    client_port = ntohs(address.sin6_port);
    server = accept(listening, nullptr, nullptr);
    close(listening);
  }
  ~Pair() {
    close(client);
    close(server);
  }
  int client = -1;
  int client_port = 0;
  int server = -1;
};

in6_addr MappedLoopback() {
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  mapped.s6_addr[12] = 127;
  mapped.s6_addr[15] = 1;
  return mapped;
}

TEST(SocketTest, PeerHasTheFormOfGrpc) {
  const Pair v6(in6addr_loopback);
  EXPECT_EQ(PeerOf(v6.server), absl::StrCat("ipv6:%5B::1%5D:", v6.client_port));
  const Pair v4(MappedLoopback());
  EXPECT_EQ(PeerOf(v4.server), absl::StrCat("ipv4:127.0.0.1:", v4.client_port));
}

TEST(SocketTest, UnixSocketsHaveNoPeer) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(PeerOf(pair[0]), "");
  EXPECT_FALSE(SocketBytesOf(pair[0]));
  close(pair[0]);
  close(pair[1]);
}

TEST(SocketTest, CountsBytesOfBothDirections) {
  const Pair pair(MappedLoopback());
  ASSERT_EQ(write(pair.client, "12345", 5), 5);
  ASSERT_EQ(write(pair.server, "123", 3), 3);
  EXPECT_TRUE(Await([&] {
    const auto bytes = SocketBytesOf(pair.server);
    return bytes && bytes->received == 5 && bytes->sent >= 3;
  }));
}

TEST(SocketTest, ShutDownDiscardsReceivedBytes) {
  const Pair pair(MappedLoopback());
  ASSERT_EQ(write(pair.client, "12345", 5), 5);
  ASSERT_TRUE(Await([&] { return SocketBytesOf(pair.server)->received == 5; }));
  ShutDown(pair.server);
  char byte = 0;
  EXPECT_EQ(recv(pair.server, &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(recv(pair.client, &byte, 1, 0), 0);
}

}  // namespace
}  // namespace locus::server
