// The address of the locusd that runs on this machine or in this container.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

// Returns the address under which a locusd started with --listen=`listen` is
// reached from its own machine. Wildcard addresses become loopback addresses.
// Returns 127.0.0.1:50051 if `listen` contains no port or port 0.
std::string LocalServerAddress(absl::string_view listen);

}  // namespace locus::client
