// The service inside this process, used when no --server is given.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "locus/client/client.h"

namespace locus::client {

// A server without ports, reached through an in-process channel. The destructor
// stops it; clients that use its channel must be destroyed first.
class EmbeddedServer {
 public:
  virtual ~EmbeddedServer() = default;
  // Opens an in-process channel with the arguments of `options`.
  virtual std::shared_ptr<grpc::Channel> Channel(
      const ClientOptions& options) = 0;
};

// Starts an embedded server with default options.
absl::StatusOr<std::unique_ptr<EmbeddedServer>> StartEmbeddedServer();

}  // namespace locus::client
