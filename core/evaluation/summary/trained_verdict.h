// The verdict of an evaluation in trained mode.
#pragma once

#include <vector>

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// Returns the verdict as described at SummarizeTrained().
EvaluationVerdict TrainedVerdict(const SummarySpec& spec,
                                 const LearnedCriterion& criterion,
                                 const CellTable& table,
                                 const std::vector<EvaluationGate>& gates);

}  // namespace locus
