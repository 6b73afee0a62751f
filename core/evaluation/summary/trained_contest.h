// Decides between trained models, and says why.
#pragma once

#include "core/evaluation/evaluation.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/summary/results.h"
#include "core/training/task.h"

namespace locus {

// Sets gates, winner and reason as SummarizeTrained describes them.
void DecideTrained(const SummaryQuestion& question,
                   const LearnedWhen& learned_when, const Results& results,
                   EvaluationSummary* summary);

}  // namespace locus
