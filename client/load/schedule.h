// When calls are meant to start, whatever became of those before them.
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

// Start times in nanoseconds since the run began, none before the last. Nothing
// in it depends on how the calls go: that is what makes the load open-loop.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // The next one; nothing once there are no more.
  virtual std::optional<int64_t> Next() = 0;
};

enum class Arrivals {
  // As evenly as the rate allows; the first call at once.
  kRegular,
  // As from many independent callers: gaps are exponential.
  kPoisson,
};

// Follows the profile. The same seed gives the same times everywhere.
std::unique_ptr<Schedule> MakeSchedule(RateProfile profile, Arrivals arrivals,
                                       uint64_t seed);

// Just those times.
std::unique_ptr<Schedule> MakeReplay(std::vector<int64_t> times);

// Reads one start time a line, in seconds since the beginning or with a unit,
// in order. Empty lines and what follows # are left out. INVALID_ARGUMENT names
// the line.
absl::StatusOr<std::vector<int64_t>> ParseReplay(absl::string_view text);

// Every `count`-th call of a schedule from the one of that index on, so that
// `count` threads that have a copy each send it together.
std::unique_ptr<Schedule> MakeShard(std::unique_ptr<Schedule> schedule,
                                    int index, int count);

}  // namespace locus::client::load
