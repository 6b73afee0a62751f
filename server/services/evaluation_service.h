// locus.v1.EvaluationService.
#pragma once

#include "locus/v1/evaluation.pb.h"
#include "server/evaluation/evaluation.h"
#include "server/rpc/service.h"

namespace locus::server {

class EvaluationService final : public Service {
 public:
  static constexpr char kName[] = "locus.v1.EvaluationService";

  EvaluationService(ServerState* state, MakeEvaluation make_evaluation);

 private:
  using Stream = ResponseStream<v1::EvaluateExtrapolationResponse>;

  static absl::Status CheckProperties(
      Call& call, const v1::CheckPropertiesRequest& request,
      Reply<v1::CheckPropertiesResponse>* reply);
  absl::Status EvaluateExtrapolation(
      Call& call, const v1::EvaluateExtrapolationRequest& request,
      Stream& stream);
  // RESOURCE_EXHAUSTED if the operator allows no such work.
  absl::Status CheckFlops(const Evaluation& evaluation);

  const MakeEvaluation make_evaluation_;
};

}  // namespace locus::server
