// The call behind `locus evaluate`, to one server or distributed over several.
#pragma once

#include "absl/status/statusor.h"
#include "client/cli/distributed/received_evaluation.h"
#include "client/cli/support/session.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

// Runs an evaluation on the server or servers of --server, or on the embedded
// server. Writes progress to standard error unless `quiet` is set. Returns a
// usage error if a flag is invalid; all other errors are in the result.
absl::StatusOr<ReceivedEvaluation> CallEvaluation(
    const CommonFlags& flags, const v1::EvaluateExtrapolationRequest& request,
    bool quiet);

}  // namespace locus::client
