// Two saved runs side by side.
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
  // "p99", "service p99", "throughput", "errors".
  std::string name;
  enum class Unit { kNanos, kPerSecond, kShare };
  Unit unit = Unit::kNanos;
  double before = 0;
  double after = 0;
  // Same: 95 % intervals of the two overlap, as if calls were independent.
  Verdict verdict = Verdict::kNone;

  // 0.1: a tenth more; infinite from nothing to something.
  double Growth() const;
};

struct Comparison {
  std::vector<ComparedFigure> figures;
  // In what the two runs differ that should have been the same.
  std::vector<std::string> differences;
};

Comparison Compare(const Result& before, const Result& after);

// By how much a figure may grow.
struct GrowthLimit {
  std::string name;
  double growth = 0;
};

// "p99=10%" or "service p99=10%"; INVALID_ARGUMENT says what is possible.
absl::StatusOr<GrowthLimit> ParseGrowthLimit(absl::string_view text);

// A line for each limit that the second run exceeds. What is the same within
// its interval exceeds none.
std::vector<std::string> Violations(const std::vector<GrowthLimit>& limits,
                                    const Comparison& comparison);

}  // namespace locus::client::load
