// The verdict of an evaluation in pattern mode, which is a description.
#pragma once

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"

namespace locus {

// Returns the description explained at SummarizePatterns().
EvaluationVerdict PatternVerdict(const SummarySpec& spec,
                                 const CellTable& table);

}  // namespace locus
