// Dedicated connections for a load test.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/client/security.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace locus::client::load {

// Opens `count` channels, each with a socket of its own, and waits until all
// are connected. With a comma-separated list of addresses, the channels are
// assigned to the servers in round-robin order, at least one to each. With a
// dns: name of several servers, every channel connects to every server.
//
// INVALID_ARGUMENT if `addresses` or `security` is invalid; UNAVAILABLE if the
// channels are not connected within `timeout_nanos`.
absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> OpenConnections(
    const std::string& addresses, int count, int64_t timeout_nanos,
    const SecurityOptions& security = {});

}  // namespace locus::client::load
