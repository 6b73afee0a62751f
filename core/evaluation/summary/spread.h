// Spreads: the distribution of the deciding metric over the seeds.
#pragma once

#include <vector>

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// Returns the spread of every scheme at every length with a finished seed.
// Length generalisation varies with seed and data order (Zhou et al., 2024), so
// that a mean alone hides models that fail. Quantiles are interpolated linearly
// between the sorted values (type 7 of Hyndman and Fan, 1996).
std::vector<EvaluationSpread> SpreadsOf(const SummarySpec& spec,
                                        const LearnedCriterion& criterion,
                                        const CellTable& table);

}  // namespace locus
