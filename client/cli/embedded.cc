// The one place where the client knows the server.
#include "client/cli/embedded.h"

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
  // Whoever asked waits for the evaluation: there is nothing it could disturb.
  options.background_evaluations = false;
  // The only caller is gone when the server stops.
  options.grace_seconds = 1;
  auto server = server::Server::Start(options);
  if (!server.ok()) return server.status();
  return std::make_unique<InProcessServer>(*std::move(server));
}

}  // namespace locus::client
