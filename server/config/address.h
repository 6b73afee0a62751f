// Addresses that the server listens on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::server {

struct Address {
  std::string host;  // without brackets
  int port = 0;
};

// Parses host:port. The host is a name, an IPv4 address, or an IPv6 address in
// brackets; the port is a number from 0 to 65535. Does not resolve names.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// Returns OK if `text` is an address for RPCs: host:port, or unix:/path.
absl::Status CheckListenAddress(absl::string_view text);

// Returns true if other machines cannot reach `text`: it is a loopback address,
// a Unix domain socket, or empty (not served at all).
bool IsLocalAddress(absl::string_view text);

}  // namespace locus::server
