// The one place where the client knows the server.
#include "client/cli/support/embedded_server.h"

#include <utility>

#include "absl/time/clock.h"
#include "locus/client/errors.h"
#include "grpcpp/channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "client/cli/distributed/evaluation_parts.h"
#include "server/server.h"
#include "server/rpc/status.h"

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

// An error as it would have come over the wire.
absl::Status FromServer(const absl::Status& status) {
  return FromGrpc(server::ToGrpcStatus(status));
}

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

absl::StatusOr<std::vector<EvaluationPart>> SplitEvaluation(
    const v1::EvaluateExtrapolationRequest& request) {
  auto split = server::SplitEvaluation(request);
  if (!split.ok()) return FromServer(split.status());
  std::vector<EvaluationPart> parts;
  for (server::EvaluationPart& part : *split) {
    parts.push_back({std::move(part.request), std::move(part.cells)});
  }
  return parts;
}

absl::StatusOr<v1::EvaluationSummary> MergeEvaluation(
    const v1::EvaluateExtrapolationRequest& request,
    const std::vector<v1::EvaluationCell>& cells,
    const std::vector<std::string>& manifests, bool partial) {
  auto summary =
      server::MergeEvaluation(request, cells, manifests, partial, absl::Now());
  if (!summary.ok()) return FromServer(summary.status());
  return summary;
}

}  // namespace locus::client
