// An evaluation that is distributed over several servers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/distributed/received_evaluation.h"
#include "client/cli/render/progress.h"
#include "client/cli/support/session.h"

namespace locus::client {

// Runs an evaluation on `servers`. Each run (one scheme with one seed) is
// assigned to one server; if that server fails or shuts down, another one
// repeats the run. The result is the same as from a single server. `flags`
// apply to all servers, except for --server. Returns a usage error if a flag is
// invalid.
absl::StatusOr<ReceivedEvaluation> EvaluateDistributed(
    const CommonFlags& flags, const std::vector<std::string>& servers,
    const v1::EvaluateExtrapolationRequest& request,
    ProgressReporter& reporter);

}  // namespace locus::client
