// Fake evaluations, whose cost and behaviour a test defines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "locus/v1/evaluation.pb.h"
#include "server/evaluation/evaluation.h"

namespace locus::server {

// The cost and the behaviour of a fake evaluation. All calls of a server share
// it.
struct FakeEvaluationJob {
  double flops = 1;
  int64_t scratch_bytes = 0;
  std::function<absl::StatusOr<EvaluationSummary>(
      ThreadPool& pool, const CancellationCheck& stop, EvaluationSink& sink)>
      run;
};

// A factory of evaluations that behave like `job`, which must outlive them.
MakeEvaluation MakeFakeEvaluation(const FakeEvaluationJob* job);

// The result of an evaluation that was stopped with `status`: like core, a
// partial summary for DEADLINE_EXCEEDED, otherwise the status itself.
absl::StatusOr<EvaluationSummary> ResultWhenStopped(const absl::Status& status);

// A fake evaluation that reports one cell and then runs until it is stopped.
absl::StatusOr<EvaluationSummary> RunUntilStopped(ThreadPool& pool,
                                                  const CancellationCheck& stop,
                                                  EvaluationSink& sink);

// A cell with 26 metrics, so that an unordered map would show, and an attention
// map of `map_bytes` bytes.
EvaluationCell MakeCell(int64_t map_bytes = 0);

// A valid request with default settings.
v1::EvaluateExtrapolationRequest PatternRequest();

}  // namespace locus::server
