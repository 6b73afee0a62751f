// Comparison of two saved runs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

enum class Verdict { kNone, kSame, kBetter, kWorse };

// One figure of both runs.
struct ComparedFigure {
  // Name of the figure, such as "p99", "service p99", "throughput" or "errors".
  std::string name;
  enum class Unit { kNanos, kPerSecond, kShare };
  Unit unit = Unit::kNanos;
  double before = 0;
  double after = 0;
  // kSame if the 95 % confidence intervals of the two runs overlap. The
  // intervals assume that calls are independent. kNone for figures without an
  // interval.
  Verdict verdict = Verdict::kNone;

  // Returns the relative change: 0.1 for 10 % more, infinity if only `before`
  // is 0.
  double Growth() const;
};

struct Comparison {
  std::vector<ComparedFigure> figures;
  // Settings in which the runs differ although they should not, such as the
  // method or the number of connections.
  std::vector<std::string> differences;
};

Comparison Compare(const Result& before, const Result& after);

// Maximum growth of one figure.
struct GrowthLimit {
  std::string name;
  double growth = 0;
};

// Parses a limit such as "p99=10%" or "service p99=10%". INVALID_ARGUMENT lists
// the valid figures.
absl::StatusOr<GrowthLimit> ParseGrowthLimit(absl::string_view text);

// Returns one line for each limit that the second run exceeds. Figures with the
// verdict kSame exceed no limit.
std::vector<std::string> Violations(const std::vector<GrowthLimit>& limits,
                                    const Comparison& comparison);

}  // namespace locus::client::load
