// Ranks the schemes of an evaluation in trained mode.
#pragma once

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// Sets gates, winner and reason as described at SummarizeTrained().
void DecideTrainedWinner(const SummarySpec& spec,
                         const LearnedCriterion& criterion,
                         const CellTable& table, EvaluationSummary* summary);

}  // namespace locus
