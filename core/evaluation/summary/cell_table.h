// The cells of an evaluation, indexed by scheme, length, metric and seed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/evaluation/types/results.h"
#include "core/evaluation/types/statistics.h"

namespace locus {

// Values of one metric by seed.
using SeedValues = std::map<uint64_t, double>;
using SeedSet = std::set<uint64_t>;

// Mean of the values over all seeds, with Student's t interval.
MeanInterval IntervalOf(const SeedValues& values);

// Paired differences a - b, for the seeds that both have.
SeedValues PairedDifference(const SeedValues& a, const SeedValues& b);

SeedSet SeedsOf(const SeedValues& values);
SeedSet Intersection(const SeedSet& a, const SeedSet& b);

// Returns the values of the given seeds.
SeedValues RestrictTo(const SeedSet& seeds, const SeedValues& values);

class CellTable {
 public:
  explicit CellTable(absl::Span<const EvaluationCell> cells);

  // Metrics by name; empty if no cell of the scheme and length is finished.
  const std::map<std::string, SeedValues>& Metrics(const std::string& scheme,
                                                   int64_t length) const;
  // Values of one metric; empty if there are none.
  const SeedValues& At(const std::string& scheme, int64_t length,
                       const std::string& metric) const;

  // Seeds for which all schemes have the metric at a length.
  SeedSet CommonSeeds(const std::vector<std::string>& schemes, int64_t length,
                      const std::string& metric) const;
  // Largest of the lengths at which all schemes have the metric for at least
  // one common seed; 0 if there is none.
  int64_t LongestCommonLength(const std::vector<std::string>& schemes,
                              const std::vector<int64_t>& lengths,
                              const std::string& metric) const;

 private:
  std::map<std::pair<std::string, int64_t>, std::map<std::string, SeedValues>>
      values_;
};

}  // namespace locus
