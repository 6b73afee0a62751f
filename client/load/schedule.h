// Start times of the calls of an open-loop load test.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/rate_profile.h"

namespace locus::client::load {

// A sequence of start times in nanoseconds since the start of the run, in
// non-decreasing order. Start times do not depend on the progress of earlier
// calls: the load is open-loop (Schroeder, Wierman and Harchol-Balter, "Open
// Versus Closed: A Cautionary Tale", NSDI 2006). Not thread-safe.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // Returns the next start time; nullopt at the end of the schedule.
  virtual std::optional<int64_t> Next() = 0;
};

enum class Arrivals {
  // Evenly spaced calls; the first call starts at once.
  kRegular,
  // A Poisson process, as from many independent clients: the gaps between calls
  // are exponentially distributed.
  kPoisson,
};

// Makes a schedule that follows a rate profile. The same seed gives the same
// start times on all platforms.
std::unique_ptr<Schedule> MakeSchedule(RateProfile profile, Arrivals arrivals,
                                       uint64_t seed);

// Makes a schedule of the given start times.
std::unique_ptr<Schedule> MakeReplay(std::vector<int64_t> times);

// Parses a list of start times, one per line and in increasing order, in
// seconds since the start of the run or with a unit. Empty lines and comments
// (from # to the end of the line) are ignored. INVALID_ARGUMENT names the line.
absl::StatusOr<std::vector<int64_t>> ParseReplay(absl::string_view text);

// Makes a schedule of every `count`-th call of another schedule, beginning with
// number `index`. The shards 0 to count - 1 together contain every call once.
std::unique_ptr<Schedule> MakeShard(std::unique_ptr<Schedule> schedule,
                                    int index, int count);

}  // namespace locus::client::load
