// When `locus load` makes its calls: flags turned into a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/load/slo.h"
#include "client/load/schedule.h"

namespace locus::client {

struct LoadPlanFlags {
  // At most one of these five; none: 1000 a second.
  std::optional<double> rate;
  std::string ramp;
  std::vector<double> steps;
  std::string replay;
  std::optional<int> concurrency;

  bool poisson = false;
  std::optional<uint64_t> seed;
  // Empty: 10s, of each trial of a search 3s.
  std::string duration;
  // Empty: 1s, of a replay none.
  std::string warm_up;
  std::vector<std::string> slo;
  std::optional<double> max_rate;
  std::vector<std::string> fail_above;
};

struct LoadPlan {
  // Empty: closed loop with `concurrency`.
  std::function<std::unique_ptr<load::Schedule>()> make_schedule;
  int concurrency = 0;
  int64_t warm_up_nanos = 0;
  // With the warm-up.
  int64_t length_nanos = 0;
  // "1000/s constant".
  std::string text;
  // Calls a second after the warm-up; 0 in closed loop.
  double offered_rate = 0;
};

// A usage error if flags make no sense or do not go together.
absl::StatusOr<LoadPlan> MakeLoadPlan(const LoadPlanFlags& flags);

// --slo and --fail-above.
absl::StatusOr<std::vector<load::Limit>> ParseLimits(
    const std::string& flag, const std::vector<std::string>& texts);

}  // namespace locus::client
