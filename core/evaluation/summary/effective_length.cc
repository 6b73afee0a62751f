#include "core/evaluation/summary/effective_length.h"

#include <cmath>
#include <limits>
#include <string>

namespace locus {
namespace {

// Relative loss of quality of each seed at a length.
SeedValues RelativeLoss(const SeedValues& in_range, const SeedValues& at_length,
                        bool higher_is_better) {
  SeedValues losses;
  for (const auto& [seed, near] : in_range) {
    const auto far = at_length.find(seed);
    if (far == at_length.end()) continue;
    const double loss =
        higher_is_better ? near - far->second : far->second - near;
    losses[seed] = near != 0  ? loss / std::abs(near)
                   : loss > 0 ? std::numeric_limits<double>::max()
                              : 0;
  }
  return losses;
}

}  // namespace

std::vector<EffectiveLength> EffectiveLengths(
    const SummarySpec& spec, const LearnedCriterion& criterion,
    const CellTable& table, const std::vector<EvaluationGate>& gates) {
  std::vector<EffectiveLength> effective;
  for (const EvaluationGate& gate : gates) {
    EffectiveLength& added = effective.emplace_back();
    added.scheme_name = gate.scheme_name;
    added.metric = gate.metric;
    added.threshold = kEffectiveThreshold;
    if (!gate.passed) continue;
    // Whether the loss was small enough at all lengths so far: the mean, and
    // the upper and lower end of its interval.
    bool mean_holds = true;
    bool high_holds = true;
    bool low_holds = true;
    const SeedValues& in_range = table.At(
        spec.shares_model ? spec.scheme_names.front() : gate.scheme_name,
        spec.train_length, gate.metric);
    for (const int64_t length : spec.eval_lengths) {
      if (length < spec.train_length) continue;
      const MeanInterval loss = IntervalOf(RelativeLoss(
          in_range, table.At(gate.scheme_name, length, gate.metric),
          criterion.higher_is_better));
      if (loss.count == 0) break;
      mean_holds &= loss.mean <= kEffectiveThreshold;
      high_holds &= loss.high <= kEffectiveThreshold;
      low_holds &= loss.low <= kEffectiveThreshold;
      if (mean_holds) added.length = length;
      if (high_holds) added.ci_low = length;
      if (low_holds) added.ci_high = length;
    }
  }
  return effective;
}

}  // namespace locus
