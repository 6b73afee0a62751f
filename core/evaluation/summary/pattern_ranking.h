// Ranks the schemes of an evaluation in pattern mode.
#pragma once

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"

namespace locus {

// Sets winner and reason as described at SummarizePatterns().
void DecidePatternWinner(const SummarySpec& spec, const CellTable& table,
                         EvaluationSummary* summary);

}  // namespace locus
