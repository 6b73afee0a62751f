// How many calls a second are wanted, as a function of time.
#pragma once

#include <optional>
#include <vector>

namespace locus::client::load {

// A stretch of time in which the rate goes straight from one value to another.
struct RateSegment {
  double seconds = 0;
  // Calls a second.
  double from_rate = 0;
  double to_rate = 0;
};

// Segments one after the other: one of equal ends is a constant rate, several
// are steps, one of different ends is a ramp.
class RateProfile {
 public:
  explicit RateProfile(std::vector<RateSegment> segments);

  double seconds() const { return seconds_; }
  // Calls in all.
  double call_count() const { return call_count_; }
  // The time, in seconds, by which `calls` are due, which may be a fraction;
  // nothing if there are never as many.
  std::optional<double> TimeOf(double calls) const;

 private:
  std::vector<RateSegment> segments_;
  double seconds_ = 0;
  double call_count_ = 0;
};

}  // namespace locus::client::load
