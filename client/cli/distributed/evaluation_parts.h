// Splits one evaluation into parts that different servers can run at the same
// time, and merges their results.
//
// Every pair of a scheme and a seed is an independent run (every seed, if one
// model serves all schemes), whose cells are byte-identical on every server. A
// part is therefore an ordinary request with fewer schemes and seeds. The merge
// uses the server's own code, so that the summary and the manifest are those of
// a single server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/v1/evaluation.pb.h"

namespace locus::client {

struct EvaluationPart {
  v1::EvaluateExtrapolationRequest request;
  // The cells that the request yields, in order and without metrics, under the
  // scheme names of the whole evaluation. Part-local names may differ: the only
  // rope scheme of a part is `rope`, but may be `rope base=500000` in the whole
  // evaluation.
  std::vector<v1::EvaluationCell> cells;
};

// The parts, in the order in which one server would run them. Fails with the
// error that a server would answer to the whole request, except for limits that
// only a server knows.
absl::StatusOr<std::vector<EvaluationPart>> SplitEvaluation(
    const v1::EvaluateExtrapolationRequest& request);

// The summary of the whole evaluation. `cells` are in the order of the parts;
// `manifests` are those of the parts' summaries; `partial` says that cells are
// missing; `now` is the time to record in the manifest.
absl::StatusOr<v1::EvaluationSummary> MergeEvaluation(
    const v1::EvaluateExtrapolationRequest& request,
    const std::vector<v1::EvaluationCell>& cells,
    const std::vector<std::string>& manifests, bool partial, absl::Time now);

}  // namespace locus::client
