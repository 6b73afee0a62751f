// Bounds on what a run may show, as in p99=5ms.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/statistics.h"

namespace locus::client::load {

struct Limit {
  enum class Of { kPercentile, kMean, kMax, kErrors };
  Of of = Of::kPercentile;
  double percent = 0;
  // Nanoseconds of latency from the intended start; for errors a share.
  double bound = 0;
  // As it was written.
  std::string text;
};

// "p50=2ms", "p99.9=20ms", "mean=1ms", "max=1s" or "errors=0.1%".
absl::StatusOr<Limit> ParseLimit(absl::string_view text);

// What the limit is about, in the run. A run in which no call succeeded has no
// latency: it is infinite.
double Measure(const Limit& limit, const Result& result);

// A line for each limit that the run exceeds: "p99 is 7.1ms, above 5ms".
std::vector<std::string> Violations(const std::vector<Limit>& limits,
                                    const Result& result);

bool HasErrorLimit(const std::vector<Limit>& limits);

}  // namespace locus::client::load
