// The service inside this process, for when no server is named.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/client.h"

namespace locus::client {

// A server without ports and a way to reach it. Destruction stops it; a client
// made of its channel has to be gone by then.
class EmbeddedServer {
 public:
  virtual ~EmbeddedServer() = default;
  virtual std::shared_ptr<grpc::Channel> Channel(
      const ClientOptions& options) = 0;
};

absl::StatusOr<std::unique_ptr<EmbeddedServer>> StartEmbeddedServer();

}  // namespace locus::client
