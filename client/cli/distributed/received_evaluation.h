// The results of one `locus evaluate` call.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

// Everything received before the call ended, whether it succeeded or not.
struct ReceivedEvaluation {
  // In the order of a single server: seeds outermost, then schemes, then
  // lengths.
  std::vector<v1::EvaluationCell> cells;
  std::optional<v1::EvaluationSummary> summary;
  absl::Status status;
  // The signal that interrupted the call; 0 if none did.
  int signal = 0;
};

}  // namespace locus::client
