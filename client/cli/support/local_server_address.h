// The server beside us.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace locus::client {

// Where a locusd is reached from its own machine, given its --listen: one that
// listens everywhere is on loopback, too. 127.0.0.1:50051 if that says nothing,
// or leaves the port to chance.
std::string NeighbourAt(absl::string_view listen);

}  // namespace locus::client
