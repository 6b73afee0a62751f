// Rate of calls as a function of time.
#pragma once

#include <optional>
#include <vector>

namespace locus::client::load {

// A time span in which the rate changes linearly from one value to another.
struct RateSegment {
  double seconds = 0;
  // Rates in calls per second.
  double from_rate = 0;
  double to_rate = 0;
};

// A sequence of segments. One segment with equal rates is a constant rate,
// several are steps, and a segment with different rates is a ramp. Immutable.
class RateProfile {
 public:
  explicit RateProfile(std::vector<RateSegment> segments);

  double seconds() const { return seconds_; }
  // Total number of calls, which may be fractional.
  double call_count() const { return call_count_; }
  // Returns the time in seconds at which the cumulative number of calls reaches
  // `calls`, which may be fractional; nullopt if it never does.
  std::optional<double> TimeOf(double calls) const;

 private:
  std::vector<RateSegment> segments_;
  double seconds_ = 0;
  double call_count_ = 0;
};

}  // namespace locus::client::load
