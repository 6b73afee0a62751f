// Addresses to listen on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace locus::server {

struct Address {
  std::string host;
  int port = 0;
};

// Takes host:port apart: a name, an IPv4 address, or an IPv6 address in
// brackets, and a port from 0 to 65535.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// Whether RPCs can be served there: host:port, or unix:/path.
absl::Status CheckListenAddress(absl::string_view text);

// Whether only this machine reaches what is served there: a socket in the file
// system, a loopback address, or nowhere at all.
bool IsLocalAddress(absl::string_view text);

}  // namespace locus::server
