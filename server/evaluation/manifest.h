// The manifest of an evaluation: all it takes to repeat it, and what came out.
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
//   date           the day, UTC: the same request has the same manifest all day
//   seeds          of each run
//   versions       of this program, its compiler and the architecture
//   configuration  the request with everything chosen that it left open;
//                  tensors and texts by size and fingerprint
//   results        rows, differences and gates, as in EvaluationSummary
//   winner, reason, partial
//
// in this order. Numbers are read back exactly; what JSON has no number for is
// "NaN", "Infinity" or "-Infinity".
std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now);

// The same of an evaluation whose parts other servers did, which have sent
// `part_manifests`: `versions` are theirs. Where they are not all alike, the
// further ones stand in a list `other_versions` behind it, since results may
// then differ from one server's in their last digits.
std::string MakeManifest(const EvaluationPlan& plan,
                         const EvaluationSummary& summary, absl::Time now,
                         const std::vector<std::string>& part_manifests);

}  // namespace locus::server
