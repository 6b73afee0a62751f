// Converts the flags of `locus load` into a plan: when to make which calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/schedule.h"
#include "client/load/slo.h"

namespace locus::client {

// The flags of `locus load` that determine the schedule and the objectives.
struct LoadPlanFlags {
  // At most one of the next five may be set; default: 1000 calls per second.
  std::optional<double> rate;
  std::string ramp;
  std::vector<double> steps;
  std::string replay;
  std::optional<int> concurrency;

  bool poisson = false;
  std::optional<uint64_t> seed;
  // Empty: 10s, or 3s for each trial of a search.
  std::string duration;
  // Empty: 1s, or 0 for a replay.
  std::string warm_up;
  std::vector<std::string> slo;
  std::optional<double> max_rate;
  std::vector<std::string> fail_above;
};

// The schedule of one run.
struct LoadPlan {
  // Creates the schedule of an open loop. Empty for a closed loop with
  // `concurrency` calls in flight.
  std::function<std::unique_ptr<load::Schedule>()> make_schedule;
  int concurrency = 0;
  int64_t warm_up_nanos = 0;
  // Length of the run, including the warm-up.
  int64_t length_nanos = 0;
  // Description for the report, such as "1000/s constant".
  std::string text;
  // Mean rate after the warm-up in calls per second; 0 for a closed loop.
  double offered_rate = 0;
};

// Returns a usage error if flags are invalid or conflict.
absl::StatusOr<LoadPlan> MakeLoadPlan(const LoadPlanFlags& flags);

// Parses the values of --slo or --fail-above. Returns a usage error that names
// `flag`.
absl::StatusOr<std::vector<load::Slo>> ParseSlos(
    const std::string& flag, const std::vector<std::string>& texts);

}  // namespace locus::client
