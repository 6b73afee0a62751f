// Runs an evaluation in the background and passes on what it says.
#pragma once

#include <chrono>

#include "absl/status/statusor.h"
#include "core/evaluation/evaluation.h"
#include "locus/v1/evaluation.pb.h"
#include "server/rpc/rpc_scope.h"
#include "server/evaluation/evaluation.h"
#include "server/rpc/server_state.h"
#include "server/rpc/stream_call.h"

namespace locus::server {

// When to stop what has to be told of by `end`: a tenth of the time before, or
// a second, whichever is less.
std::chrono::steady_clock::time_point StopBefore(
    std::chrono::steady_clock::time_point end,
    std::chrono::steady_clock::time_point now);

// What RunEvaluation itself holds while a caller reads slowly, in bytes, if no
// cell has more than `max_cell_bytes`.
int64_t StreamBytes(int64_t max_cell_bytes);

// Returns when everything but the summary is written and no thread works on it
// any more. A little before the caller's deadline, or the end of the grace
// period, the summary of what is finished comes back, marked as partial; if the
// caller is gone, CANCELLED or DEADLINE_EXCEEDED. A caller that reads slowly
// holds the evaluation up; one that reads nothing for a minute is given up.
absl::StatusOr<EvaluationSummary> RunEvaluation(
    ServerState& state, Call& call, const Evaluation& evaluation,
    ResponseStream<v1::EvaluateExtrapolationResponse>& stream);

}  // namespace locus::server
