#include "core/evaluation/summary/cell_table.h"

#include <algorithm>
#include <iterator>

namespace locus {

MeanInterval IntervalOf(const SeedValues& values) {
  std::vector<double> numbers;
  for (const auto& [seed, value] : values) numbers.push_back(value);
  return IntervalOf(absl::MakeConstSpan(numbers));
}

SeedValues PairedDifference(const SeedValues& a, const SeedValues& b) {
  SeedValues differences;
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

SeedValues RestrictTo(const SeedSet& seeds, const SeedValues& values) {
  SeedValues kept;
  for (const auto& [seed, value] : values) {
    if (seeds.count(seed) != 0) kept[seed] = value;
  }
  return kept;
}

SeedSet SeedsOf(const SeedValues& values) {
  SeedSet seeds;
  for (const auto& [seed, value] : values) seeds.insert(seed);
  return seeds;
}

CellTable::CellTable(absl::Span<const EvaluationCell> cells) {
  for (const EvaluationCell& cell : cells) {
    for (const auto& [metric, value] : cell.metrics) {
      values_[{cell.scheme_name, cell.eval_length}][metric][cell.seed] = value;
    }
  }
}

const std::map<std::string, SeedValues>& CellTable::Metrics(
    const std::string& scheme, int64_t length) const {
  static const auto* const none = new std::map<std::string, SeedValues>();
  const auto found = values_.find({scheme, length});
  return found == values_.end() ? *none : found->second;
}

const SeedValues& CellTable::At(const std::string& scheme, int64_t length,
                                const std::string& metric) const {
  static const auto* const none = new SeedValues();
  const auto& metrics = Metrics(scheme, length);
  const auto found = metrics.find(metric);
  return found == metrics.end() ? *none : found->second;
}

SeedSet CellTable::CommonSeeds(const std::vector<std::string>& schemes,
                               int64_t length,
                               const std::string& metric) const {
  if (schemes.empty()) return {};
  SeedSet common = SeedsOf(At(schemes.front(), length, metric));
  for (const std::string& scheme : schemes) {
    common = Intersection(common, SeedsOf(At(scheme, length, metric)));
  }
  return common;
}

int64_t CellTable::LongestCommonLength(const std::vector<std::string>& schemes,
                                       const std::vector<int64_t>& lengths,
                                       const std::string& metric) const {
  int64_t longest = 0;
  for (const int64_t length : lengths) {
    if (CommonSeeds(schemes, length, metric).empty()) continue;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace locus
