// Gates: whether the schemes of an evaluation learned the task in range.
#pragma once

#include <string>
#include <vector>

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// Returns the gates of all schemes with a finished seed at the training length,
// in the order of the request. A scheme passes if at least half of its finished
// seeds reached the threshold there. If all schemes share one model, the first
// scheme, with which it was trained, decides for all.
std::vector<EvaluationGate> ApplyGates(const SummarySpec& spec,
                                       const LearnedCriterion& criterion,
                                       const CellTable& table);

// Whether a scheme has a gate and passed it.
bool HasPassed(const std::vector<EvaluationGate>& gates,
               const std::string& scheme);

}  // namespace locus
