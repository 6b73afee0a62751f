#include "core/evaluation/summary/gates.h"

#include <algorithm>

namespace locus {

std::vector<EvaluationGate> ApplyGates(const SummarySpec& spec,
                                       const LearnedCriterion& criterion,
                                       const CellTable& table) {
  const std::string metric(criterion.metric);
  std::vector<EvaluationGate> gates;
  for (const std::string& scheme : spec.scheme_names) {
    if (table.At(scheme, spec.train_length, metric).empty()) continue;
    const std::string& deciding =
        spec.shares_model ? spec.scheme_names.front() : scheme;
    const SeedValues& values = table.At(deciding, spec.train_length, metric);
    if (values.empty()) continue;
    const auto count = static_cast<int64_t>(values.size());
    const int64_t learned =
        std::count_if(values.begin(), values.end(), [&](const auto& value) {
          return !criterion.IsBetter(criterion.threshold, value.second);
        });
    gates.push_back({.scheme_name = scheme,
                     .metric = metric,
                     .threshold = criterion.threshold,
                     .learned_share = static_cast<double>(learned) /
                                      static_cast<double>(count),
                     .passed = 2 * learned >= count,
                     .chance = criterion.chance});
  }
  return gates;
}

bool HasPassed(const std::vector<EvaluationGate>& gates,
               const std::string& scheme) {
  return std::any_of(gates.begin(), gates.end(), [&](const auto& gate) {
    return gate.scheme_name == scheme && gate.passed;
  });
}

}  // namespace locus
