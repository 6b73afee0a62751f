// One evaluation over several servers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/commands/evaluate_call.h"
#include "client/cli/render/progress.h"
#include "client/cli/support/session.h"

namespace locus::client {

// Every run (a scheme with a seed) goes to one of `servers`; one that is lost,
// or leaves in the middle, has its runs done by another. What comes of it is
// what one server would have sent. `flags` are for all of them, but for the
// server.
absl::StatusOr<ReceivedEvaluation> SpreadEvaluation(
    const CommonFlags& flags, const std::vector<std::string>& servers,
    const v1::EvaluateExtrapolationRequest& request,
    ProgressReporter& reporter);

}  // namespace locus::client
