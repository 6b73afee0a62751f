// Service level objectives (SLOs) of a load test, such as p99=5ms.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

// An upper bound on one metric of a run.
struct Slo {
  enum class Metric { kPercentile, kMean, kMax, kErrors };
  Metric metric = Metric::kPercentile;
  // The percentile, for kPercentile.
  double percent = 0;
  // Maximum latency from the intended start, in nanoseconds; for kErrors, the
  // maximum error ratio.
  double bound = 0;
  // The SLO as the user wrote it.
  std::string text;
};

// Parses an SLO: "p50=2ms", "p99.9=20ms", "mean=1ms", "max=1s" or
// "errors=0.1%".
absl::StatusOr<Slo> ParseSlo(absl::string_view text);

// Returns the metric of an SLO in the unit of Slo::bound. Latencies are
// infinite if no call succeeded.
double Measure(const Slo& slo, const Result& result);

// Returns one line for each SLO that the run misses, such as
// "p99 is 7.1ms, above 5ms".
std::vector<std::string> Violations(const std::vector<Slo>& slos,
                                    const Result& result);

// Whether one of the SLOs bounds the error ratio.
bool HasErrorSlo(const std::vector<Slo>& slos);

}  // namespace locus::client::load
