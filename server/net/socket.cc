#include "server/net/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace locus::server {
namespace {

std::string PeerOfV4(const in_addr& address, in_port_t port) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return absl::StrCat("ipv4:", text, ":", ntohs(port));
}

// The C library's tcp_info, and the fields that follow in the kernel's.
struct LongTcpInfo {
  tcp_info base;
  uint64_t pacing_rate;
  uint64_t max_pacing_rate;
  uint64_t bytes_acked;
  uint64_t bytes_received;
};
static_assert(offsetof(LongTcpInfo, pacing_rate) ==
              offsetof(tcp_info, tcpi_total_retrans) + sizeof(uint32_t));

// gRPC formats IPv4-mapped addresses as IPv4, and escapes what may not stand in
// the path of a URI: brackets, and the % before a scope.
std::string PeerOfV6(const sockaddr_in6& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    in_addr v4{};
    v4.s_addr = address.sin6_addr.s6_addr32[3];
    return PeerOfV4(v4, address.sin6_port);
  }
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
  const std::string scope = address.sin6_scope_id == 0
                                ? ""
                                : absl::StrCat("%25", address.sin6_scope_id);
  return absl::StrCat("ipv6:%5B", text, scope,
                      "%5D:", ntohs(address.sin6_port));
}

}  // namespace

std::string PeerOf(int connection) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&peer), &length) !=
      0) {
    return "";
  }
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return PeerOfV4(v4.sin_addr, v4.sin_port);
  }
  if (peer.ss_family == AF_INET6) {
    return PeerOfV6(reinterpret_cast<const sockaddr_in6&>(peer));
  }
  return "";
}

std::optional<ConnectionGuard::SocketBytes> SocketBytesOf(int connection) {
  LongTcpInfo info{};
  socklen_t length = sizeof(info);
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
      length < sizeof(info)) {
    return std::nullopt;
  }
  return ConnectionGuard::SocketBytes{
      .received = static_cast<int64_t>(info.bytes_received),
      .sent = static_cast<int64_t>(info.bytes_acked)};
}

bool ShutDown(int connection) {
  const bool was_open = shutdown(connection, SHUT_RDWR) == 0;
  // MSG_TRUNC discards the bytes of a TCP connection without copying them. Once
  // it is shut down, no further bytes arrive.
  constexpr size_t kDiscardedBytes = size_t{1} << 30;
  while (recv(connection, nullptr, kDiscardedBytes, MSG_TRUNC | MSG_DONTWAIT) >
         0) {
  }
  return was_open;
}

}  // namespace locus::server
