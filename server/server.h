// locusd as a library: the services, health, reflection and the HTTP port.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/evaluation/evaluation.h"
#include "server/config/options.h"

namespace grpc {
class Channel;
class ChannelArguments;
}  // namespace grpc

namespace locus::server {

// A running server. Thread-safe. Destruction shuts it down.
class Server {
 public:
  // Fails with one clear sentence if an option is wrong or a port is taken.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options);
  // The same with other evaluations than core's.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options, MakeEvaluation make_evaluation);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // The ports bound; 0 where nothing is served.
  int grpc_port() const;
  int http_port() const;

  // A channel that reaches this server without a network.
  std::shared_ptr<grpc::Channel> InProcessChannel(
      const grpc::ChannelArguments& arguments);

  // Turns health to NOT_SERVING and /readyz to 503, refuses new calls, lets
  // calls in flight finish within the grace period, and returns when the last
  // one is done. Later calls return at once.
  void Shutdown();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace locus::server
