#include "server/config/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/printable.h"

namespace locus::server {
namespace {

absl::Status Malformed(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Printable(text, 200),
                   "\" is not an address; must be host:port with a port from 0 "
                   "to 65535, such as 127.0.0.1:50051 or [::1]:50051"));
}

bool IsHost(absl::string_view host, bool bracketed) {
  if (host.empty() || host.size() > 253) return false;
  for (const char c : host) {
    const bool allowed = bracketed
                             ? absl::ascii_isxdigit(c) || c == ':' || c == '.'
                             : absl::ascii_isalnum(c) || c == '-' || c == '.';
    if (!allowed) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text);
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  const bool bracketed = absl::StartsWith(host, "[") &&
                         absl::EndsWith(host, "]") && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  Address address{std::string(host), 0};
  const bool digits = absl::c_all_of(port, absl::ascii_isdigit);
  if (!IsHost(host, bracketed) || !digits || port.size() > 5 ||
      !absl::SimpleAtoi(port, &address.port) || address.port > 65535) {
    return Malformed(text);
  }
  return address;
}

absl::Status CheckListenAddress(absl::string_view text) {
  if (absl::StartsWith(text, "unix:") && text.size() > 5) {
    return absl::OkStatus();
  }
  return ParseAddress(text).status();
}

bool IsLocalAddress(absl::string_view text) {
  if (text.empty() || absl::StartsWith(text, "unix:")) return true;
  const auto address = ParseAddress(text);
  if (!address.ok()) return false;
  if (address->host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, address->host.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24) == 127;
  }
  in6_addr v6{};
  return inet_pton(AF_INET6, address->host.c_str(), &v6) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace locus::server
