// Comparison of two saved runs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

enum class Verdict {
  // The figure has no interval.
  kNone,
  // A run has too few calls for the percentile; see HasEnoughCalls().
  kTooFewCalls,
  // The 95 % confidence intervals overlap, and the figures differ by at most
  // 5 %.
  kSame,
  // The intervals overlap, but the figures differ by more: the difference may
  // be real or due to chance.
  kUncertain,
  kBetter,
  kWorse,
};

// One figure of both runs.
struct ComparedFigure {
  // Name of the figure, such as "p99", "service p99", "throughput" or "errors".
  std::string name;
  enum class Unit { kNanos, kPerSecond, kShare };
  Unit unit = Unit::kNanos;
  double before = 0;
  double after = 0;
  // Computed from 95 % confidence intervals, which assume that calls are
  // independent.
  Verdict verdict = Verdict::kNone;
  // Whether the figure belongs to a short comparison: throughput, errors, mean,
  // p50, p99 and p99.9 of the latency.
  bool headline = false;

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

// Returns one line for each limit that the second run exceeds. Figures whose
// intervals overlap exceed no limit.
std::vector<std::string> Violations(const std::vector<GrowthLimit>& limits,
                                    const Comparison& comparison);

}  // namespace locus::client::load
