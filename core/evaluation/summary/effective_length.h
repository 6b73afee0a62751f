// Effective lengths: how far each scheme works about as well as in range.
#pragma once

#include <vector>

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/types/results.h"
#include "core/training/task.h"

namespace locus {

// Largest relative loss of quality against the training length.
inline constexpr double kEffectiveThreshold = 0.1;

// Returns the effective length of every scheme that has a gate, in their order.
//
// The relative loss of a seed at length n is (m(L) - m(n)) / |m(L)|, where m is
// the deciding metric and L the training length, with the opposite sign if
// lower is better. The effective length is the largest tested n such that the
// mean loss over the seeds is at most kEffectiveThreshold at n and at all
// tested lengths between L and n. Its interval results from the ends of
// Student's 95 % interval of the mean loss, so that all three lengths are
// tested ones. They are 0 if the scheme did not pass its gate. If all schemes
// share one model, m(L) is that of the first scheme, with which it was trained,
// and the length is 0 if a scheme loses more than the threshold at L itself.
std::vector<EffectiveLength> EffectiveLengths(
    const SummarySpec& spec, const LearnedCriterion& criterion,
    const CellTable& table, const std::vector<EvaluationGate>& gates);

}  // namespace locus
