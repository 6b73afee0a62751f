// The service inside this process, for when no server is named; and what only
// the service knows how to do, for when several are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/client/client.h"

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

// A part of an evaluation that a server can do on its own, and the cells that
// it makes, in their order, as the whole evaluation names them, without
// metrics.
struct EvaluationPart {
  v1::EvaluateExtrapolationRequest request;
  std::vector<v1::EvaluationCell> cells;
};
// In the order in which one server would do them. What is wrong with the
// request is found here, as a server would find it.
absl::StatusOr<std::vector<EvaluationPart>> SplitEvaluation(
    const v1::EvaluateExtrapolationRequest& request);
// What one server would have said of these cells, which are in the order of the
// parts. `manifests` are those that the parts ended with; `partial` says that
// cells are missing.
absl::StatusOr<v1::EvaluationSummary> MergeEvaluation(
    const v1::EvaluateExtrapolationRequest& request,
    const std::vector<v1::EvaluationCell>& cells,
    const std::vector<std::string>& manifests, bool partial);

}  // namespace locus::client
