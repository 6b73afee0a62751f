// The cells of an evaluation, found by what they are of.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/evaluation/evaluation.h"
#include "core/evaluation/types/statistics.h"
#include "core/evaluation/summary/summary.h"

namespace locus {

// By seed.
using Values = std::map<uint64_t, double>;
using SeedSet = std::set<uint64_t>;

MeanInterval IntervalOf(const Values& values);

// a - b, of seeds that have both.
Values Difference(const Values& a, const Values& b);

SeedSet SeedsOf(const Values& values);
SeedSet Intersection(const SeedSet& a, const SeedSet& b);

// Those of some seeds.
Values Only(const SeedSet& seeds, const Values& values);

class Results {
 public:
  explicit Results(absl::Span<const EvaluationCell> cells);

  // Empty where nothing is finished, as below.
  const std::map<std::string, Values>& Metrics(const std::string& scheme,
                                               int64_t length) const;
  const Values& At(const std::string& scheme, int64_t length,
                   const std::string& metric) const;

  // The seeds for which all schemes have the metric at a length.
  SeedSet CommonSeeds(const std::vector<std::string>& schemes, int64_t length,
                      const std::string& metric) const;
  // The largest of the lengths at which all schemes have the metric for one
  // seed at least; 0 if there is none.
  int64_t FarthestCommon(const std::vector<std::string>& schemes,
                         const std::vector<int64_t>& lengths,
                         const std::string& metric) const;

 private:
  std::map<std::pair<std::string, int64_t>, std::map<std::string, Values>>
      values_;
};

}  // namespace locus
