// Finds the steadiest pattern, and says what that is worth.
#pragma once

#include "core/evaluation/evaluation.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/summary/results.h"

namespace locus {

// Sets winner and reason as SummarizePatterns describes them.
void DecidePatterns(const SummaryQuestion& question, const Results& results,
                    EvaluationSummary* summary);

}  // namespace locus
