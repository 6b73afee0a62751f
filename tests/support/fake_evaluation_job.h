// Evaluations that do what a test says.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "locus/v1/evaluation.pb.h"
#include "server/evaluation/evaluation.h"

namespace locus::server {

// What a made-up evaluation costs and does. Shared by all calls of a server.
struct Script {
  double flops = 1;
  int64_t scratch_bytes = 0;
  std::function<absl::StatusOr<EvaluationSummary>(
      ThreadPool& pool, const StopCheck& stop, EvaluationSink& sink)>
      run;
};

// Makes evaluations that follow `script`, which outlives them.
MakeEvaluation Fake(const Script* script);

// As core does it: the partial summary for a deadline, the status otherwise.
absl::StatusOr<EvaluationSummary> Stopped(const absl::Status& status);

// Goes on until it is stopped, and tells `sink` of a cell first.
absl::StatusOr<EvaluationSummary> RunUntilStopped(ThreadPool& pool,
                                                  const StopCheck& stop,
                                                  EvaluationSink& sink);

// A cell with metrics enough to be put out of order, and a map of so many
// bytes.
EvaluationCell MakeCell(int64_t map_bytes = 0);

// A request for any evaluation at all.
v1::EvaluateExtrapolationRequest PatternRequest();

}  // namespace locus::server
