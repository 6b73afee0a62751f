// The manifest of an evaluation: everything needed to repeat it, and its
// results.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/evaluation/evaluation.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::server {

// A JSON object with the keys
//
//   experiment     "pattern", or the name of the task
//   date           the day in UTC, without the time, so that equal requests on
//                  the same day have equal manifests
//   seeds          the seed of each run
//   versions       of this program, its compiler, the architecture and the
//                  instruction set
//   configuration  the request with its defaults filled in; tensors and texts
//                  are represented by their size and fingerprint
//   results        rows, differences and gates, as in EvaluationSummary
//   verdict        winner, kind (such as "winner" or "at_chance"), text and
//                  next_step, as in EvaluationVerdict
//   winner, reason, partial
//   effective_lengths, spreads, training_curves, ordering_answers
//                  as in EvaluationSummary; the key of scheme_name is `scheme`.
//                  share_above_95 is null if the metric is not a share.
//
// in this order. Numbers have enough digits to be read back exactly. Values
// that JSON cannot represent are the strings "NaN", "Infinity" and "-Infinity".
std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now);

// Same as above, for a distributed evaluation whose parts other servers
// computed. `part_manifests` are the manifests of the parts; `versions` is
// taken from them. If the servers have different versions, results may differ
// from those of a single server in their last digits, and `versions` is
// followed by a list `other_versions`.
std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now,
                         const std::vector<std::string>& part_manifests);

}  // namespace locus::server
