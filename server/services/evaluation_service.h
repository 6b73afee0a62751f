// The handlers of locus.v1.EvaluationService.
#pragma once

#include "locus/v1/evaluation.pb.h"
#include "server/evaluation/evaluation.h"
#include "server/evaluation/executor.h"
#include "server/rpc/service.h"

namespace locus::server {

// Checks the properties of schemes, and evaluates how they extrapolate.
// Thread-safe.
class EvaluationService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.EvaluationService";

  // `state` and `executor` must outlive the service. `make_evaluation` creates
  // the evaluation of each call.
  EvaluationService(ServerState* state, EvaluationExecutor* executor,
                    MakeEvaluation make_evaluation);

 private:
  using Stream = ResponseStream<v1::EvaluateExtrapolationResponse>;

  static absl::StatusOr<Computation<v1::CheckPropertiesResponse>>
  CheckProperties(RpcScope& call, const v1::CheckPropertiesRequest& request);
  absl::StatusOr<StreamBody<v1::EvaluateExtrapolationResponse>>
  EvaluateExtrapolation(RpcScope& call,
                        const v1::EvaluateExtrapolationRequest& request);
  // RESOURCE_EXHAUSTED if the evaluation exceeds --max-evaluation-flops.
  absl::Status CheckFlops(const Evaluation& evaluation);

  EvaluationExecutor& executor_;
  const MakeEvaluation make_evaluation_;
};

}  // namespace locus::server
