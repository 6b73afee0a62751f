// Connections of their own for a load.
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

// As many connections as asked for, each a socket of its own, all connected;
// to a list of servers with commas, to each in turn, and one to each at least;
// to a name of several servers (dns:), one of each connection to every server.
// INVALID_ARGUMENT if `addresses` or `security` make no sense; UNAVAILABLE if
// that takes longer than the time given.
absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> OpenConnections(
    const std::string& addresses, int count, int64_t timeout_nanos,
    const SecurityOptions& security = {});

}  // namespace locus::client::load
