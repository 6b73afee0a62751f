#include "client/cli/support/embedded_server.h"

#include <utility>

#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "server/server.h"

namespace locus::client {
namespace {

class InProcessServer final : public EmbeddedServer {
 public:
  explicit InProcessServer(std::unique_ptr<server::Server> server)
      : server_(std::move(server)) {}

  std::shared_ptr<grpc::Channel> Channel(
      const ClientOptions& options) override {
    return server_->InProcessChannel(MakeChannelArguments(options));
  }

 private:
  const std::unique_ptr<server::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedServer>> StartEmbeddedServer() {
  server::ServerOptions options;
  options.listen = "";
  options.http = "";
  options.log_calls = false;
  // The user waits for the evaluation, and no other calls compete with it.
  options.background_evaluations = false;
  // The only client is gone when the server stops.
  options.grace_seconds = 1;
  auto server = server::Server::Start(options);
  if (!server.ok()) return server.status();
  return std::make_unique<InProcessServer>(*std::move(server));
}

}  // namespace locus::client
