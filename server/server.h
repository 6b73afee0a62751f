// The server as a library: gRPC services, health checks, reflection, and the
// HTTP server for metrics.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/config/options.h"
#include "server/evaluation/evaluation.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace locus::server {

// A running server. The destructor shuts it down, as Shutdown() does.
// Thread-safe.
class Server {
 public:
  // Starts a server. Fails with a one-line message if an option is invalid, a
  // file is unreadable, or a port is in use.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options);
  // Same, with a different implementation of evaluations, for tests.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options, MakeEvaluation make_evaluation);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The bound ports; 0 if there is none.
  int grpc_port() const;
  int http_port() const;

  // Returns a channel to this server that does not use the network. Works with
  // an empty `listen`, too.
  std::shared_ptr<grpc::Channel> InProcessChannel(
      const grpc::ChannelArguments& arguments);

  // Drains and stops the server: health becomes NOT_SERVING and /readyz 503,
  // new calls are rejected, and calls in flight have `grace_seconds` to finish
  // before they are cancelled. Blocks until the last call has ended. Later
  // calls return at once, concurrent calls wait.
  void Shutdown();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace locus::server
