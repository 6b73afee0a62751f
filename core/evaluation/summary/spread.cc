#include "core/evaluation/summary/spread.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace locus {
namespace {

// Quantile q of values in ascending order, of which there is at least one.
double Quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = place - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

EvaluationSpread SpreadOf(const SeedValues& values,
                          const LearnedCriterion& criterion) {
  constexpr double kHighShare = 0.95;
  EvaluationSpread spread;
  std::vector<double> sorted;
  double worst = values.begin()->second;
  spread.worst_seed = values.begin()->first;
  int64_t high_count = 0;
  for (const auto& [seed, value] : values) {
    sorted.push_back(value);
    high_count += value >= kHighShare;
    if (criterion.IsBetter(worst, value)) {
      worst = value;
      spread.worst_seed = seed;
    }
  }
  std::sort(sorted.begin(), sorted.end());
  spread.min = sorted.front();
  spread.q25 = Quantile(sorted, 0.25);
  spread.median = Quantile(sorted, 0.5);
  spread.q75 = Quantile(sorted, 0.75);
  spread.max = sorted.back();
  // Metrics of which more is better are shares of right answers.
  if (criterion.higher_is_better) {
    spread.share_above_95 =
        static_cast<double>(high_count) / static_cast<double>(values.size());
  }
  return spread;
}

}  // namespace

std::vector<EvaluationSpread> SpreadsOf(const SummarySpec& spec,
                                        const LearnedCriterion& criterion,
                                        const CellTable& table) {
  const std::string metric(criterion.metric);
  std::vector<EvaluationSpread> spreads;
  for (const std::string& scheme : spec.scheme_names) {
    for (const int64_t length : spec.eval_lengths) {
      const SeedValues& values = table.At(scheme, length, metric);
      if (values.empty()) continue;
      EvaluationSpread& added =
          spreads.emplace_back(SpreadOf(values, criterion));
      added.scheme_name = scheme;
      added.eval_length = length;
      added.metric = metric;
    }
  }
  return spreads;
}

}  // namespace locus
