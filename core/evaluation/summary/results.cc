#include "core/evaluation/summary/results.h"

#include <algorithm>
#include <iterator>

namespace locus {

MeanInterval IntervalOf(const Values& values) {
  std::vector<double> numbers;
  for (const auto& [seed, value] : values) numbers.push_back(value);
  return IntervalOf(absl::MakeConstSpan(numbers));
}

Values Difference(const Values& a, const Values& b) {
  Values differences;
  for (const auto& [seed, value] : a) {
    if (const auto other = b.find(seed); other != b.end()) {
      differences[seed] = value - other->second;
    }
  }
  return differences;
}

SeedSet Intersection(const SeedSet& a, const SeedSet& b) {
  SeedSet both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::inserter(both, both.end()));
  return both;
}

Values Only(const SeedSet& seeds, const Values& values) {
  Values kept;
  for (const auto& [seed, value] : values) {
    if (seeds.count(seed) != 0) kept[seed] = value;
  }
  return kept;
}

SeedSet SeedsOf(const Values& values) {
  SeedSet seeds;
  for (const auto& [seed, value] : values) seeds.insert(seed);
  return seeds;
}

Results::Results(absl::Span<const EvaluationCell> cells) {
  for (const EvaluationCell& cell : cells) {
    for (const auto& [metric, value] : cell.metrics) {
      values_[{cell.scheme_name, cell.eval_length}][metric][cell.seed] = value;
    }
  }
}

const std::map<std::string, Values>& Results::Metrics(const std::string& scheme,
                                                      int64_t length) const {
  static const auto* const none = new std::map<std::string, Values>();
  const auto found = values_.find({scheme, length});
  return found == values_.end() ? *none : found->second;
}

const Values& Results::At(const std::string& scheme, int64_t length,
                          const std::string& metric) const {
  static const auto* const none = new Values();
  const auto& metrics = Metrics(scheme, length);
  const auto found = metrics.find(metric);
  return found == metrics.end() ? *none : found->second;
}

SeedSet Results::CommonSeeds(const std::vector<std::string>& schemes,
                             int64_t length, const std::string& metric) const {
  if (schemes.empty()) return {};
  SeedSet common = SeedsOf(At(schemes.front(), length, metric));
  for (const std::string& scheme : schemes) {
    common = Intersection(common, SeedsOf(At(scheme, length, metric)));
  }
  return common;
}

int64_t Results::FarthestCommon(const std::vector<std::string>& schemes,
                                const std::vector<int64_t>& lengths,
                                const std::string& metric) const {
  int64_t farthest = 0;
  for (const int64_t length : lengths) {
    if (CommonSeeds(schemes, length, metric).empty()) continue;
    farthest = std::max(farthest, length);
  }
  return farthest;
}

}  // namespace locus
