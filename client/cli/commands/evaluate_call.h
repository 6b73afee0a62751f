// The call behind `locus evaluate`, to one server or spread over several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/support/session.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

// What came of it, whether it ended well or not.
struct ReceivedEvaluation {
  // As one server sends them: seeds outermost, then schemes, then lengths.
  std::vector<v1::EvaluationCell> cells;
  std::optional<v1::EvaluationSummary> summary;
  absl::Status status;
  // That ended it; 0: none.
  int signal = 0;
};

// A usage error if a flag makes no sense. Progress goes to standard error
// unless `quiet`.
absl::StatusOr<ReceivedEvaluation> CallEvaluation(
    const CommonFlags& flags, const v1::EvaluateExtrapolationRequest& request,
    bool quiet);

}  // namespace locus::client
