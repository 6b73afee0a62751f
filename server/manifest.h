// The manifest of an evaluation: all it takes to repeat it, and what came out.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/evaluation/evaluation.h"
#include "server/convert_evaluation.h"

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

}  // namespace locus::server
