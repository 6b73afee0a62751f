// An exponentially weighted moving average (EWMA) of the time between events.
#pragma once

#include "server/base/clock.h"

namespace locus::server {

// Estimates the seconds from one event to the next:
//
//   mean += w (interval - mean), w = 1/128.
//
// The weight is small because events come in bursts. The caller passes the time
// to every function. Not thread-safe.
class Ewma {
 public:
  // Starts at a guess; no event has happened yet.
  void Begin(double seconds, Clock::time_point now) {
    seconds_ = seconds;
    last_ = now;
  }
  // Records an event.
  void Step(Clock::time_point now) {
    seconds_ += kWeight * (SecondsBetween(last_, now) - seconds_);
    last_ = now;
  }
  double seconds() const { return seconds_; }
  double since_last(Clock::time_point now) const {
    return SecondsBetween(last_, now);
  }

 private:
  static constexpr double kWeight = 1.0 / 128;

  double seconds_ = 0;
  Clock::time_point last_;
};

}  // namespace locus::server
