// Runs an evaluation at low priority, and streams its results to the client.
#pragma once

#include <chrono>

#include "absl/status/statusor.h"
#include "core/evaluation/evaluation.h"
#include "locus/v1/evaluation.pb.h"
#include "server/evaluation/evaluation.h"
#include "server/evaluation/executor.h"
#include "server/rpc/method.h"
#include "server/rpc/rpc_scope.h"
#include "server/rpc/server_state.h"

namespace locus::server {

// The time at which to stop computing so that the result can be sent by `end`:
// a tenth of the remaining time before `end`, but at most one second before.
// Returns `end` itself if it has passed or is time_point::max().
std::chrono::steady_clock::time_point StopBefore(
    std::chrono::steady_clock::time_point end,
    std::chrono::steady_clock::time_point now);

// Upper bound of the memory that RunEvaluation() itself holds, in bytes, if no
// cell is larger than `max_cell_bytes`.
int64_t StreamBufferBytes(int64_t max_cell_bytes);

// Runs the evaluation, writes its progress and cells to `stream`, and returns
// its summary. When it returns, all events are written and no thread works on
// the evaluation.
//
// Shortly before the deadline of the call, or the end of the grace period of a
// shutdown, the evaluation stops, and the summary of the finished cells is
// returned, marked as partial. If the client cancels the call, or its deadline
// passes, the result is CANCELLED or DEADLINE_EXCEEDED.
//
// Backpressure: a client that reads slowly slows the evaluation down. The call
// of a client that reads nothing for a minute is cancelled.
absl::StatusOr<EvaluationSummary> RunEvaluation(
    ServerState& state, EvaluationExecutor& executor, RpcScope& call,
    const Evaluation& evaluation,
    ResponseStream<v1::EvaluateExtrapolationResponse>& stream);

}  // namespace locus::server
