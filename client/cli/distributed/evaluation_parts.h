// One evaluation in parts that different servers may do at the same time.
//
// Every scheme with every seed is a run of its own (every seed, where one model
// serves all schemes), and its cells are the same to the byte wherever and
// beside whatever it runs. So whoever has several servers sends them parts:
// requests like the whole one, but for fewer schemes and seeds. What they find
// is put together by the code that a single server uses, and comes out the
// same.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::server {

struct EvaluationPart {
  v1::EvaluateExtrapolationRequest request;
  // The cells that come of it, in this order, as the whole evaluation names
  // them (a part may say rope of what is rope#2 there), without metrics.
  std::vector<v1::EvaluationCell> cells;
};

// In the order in which one server would do them. Errors are those that a
// server would answer the whole request with, its own limits apart.
absl::StatusOr<std::vector<EvaluationPart>> SplitEvaluation(
    const v1::EvaluateExtrapolationRequest& request);

// The summary of the whole evaluation. `cells` are in the order of the parts;
// `manifests` are those of the summaries that the parts ended with; `partial`
// says that cells are missing.
absl::StatusOr<v1::EvaluationSummary> MergeEvaluation(
    const v1::EvaluateExtrapolationRequest& request,
    const std::vector<v1::EvaluationCell>& cells,
    const std::vector<std::string>& manifests, bool partial, absl::Time now);

}  // namespace locus::server
