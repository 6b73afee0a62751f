// Connections of their own for a load.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/security.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace locus::client::load {

// As many connections as asked for, each a socket of its own, all connected.
// INVALID_ARGUMENT if `security` cannot be had; UNAVAILABLE if that takes
// longer than the time given.
absl::StatusOr<std::vector<std::shared_ptr<grpc::Channel>>> OpenConnections(
    const std::string& address, int count, int64_t timeout_nanos,
    const SecurityOptions& security = {});

}  // namespace locus::client::load
