// How fast something goes on, and how often something may be done. Both are
// told the time.
#pragma once

#include <algorithm>
#include <chrono>

namespace locus::server {

using PaceClock = std::chrono::steady_clock;

inline double SecondsBetween(PaceClock::time_point from,
                             PaceClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Further ahead than decades is decades.
inline PaceClock::time_point After(PaceClock::time_point time, double seconds) {
  constexpr double kDecades = 1e9;
  return time + std::chrono::duration_cast<PaceClock::duration>(
                    std::chrono::duration<double>(std::min(seconds, kDecades)));
}

// The time from one step to the next, the last ones above all.
class Pace {
 public:
  // Nobody has taken a step yet; `seconds` is a guess.
  void Begin(double seconds, PaceClock::time_point now) {
    seconds_ = seconds;
    last_ = now;
  }
  void Step(PaceClock::time_point now) {
    seconds_ += kLastWeight * (SecondsBetween(last_, now) - seconds_);
    last_ = now;
  }
  double seconds() const { return seconds_; }
  double since_last(PaceClock::time_point now) const {
    return SecondsBetween(last_, now);
  }

 private:
  // Steps come in bunches.
  static constexpr double kLastWeight = 1.0 / 128;

  double seconds_ = 0;
  PaceClock::time_point last_;
};

// Something that may be done so often in a second, and some more after a quiet
// time.
class Allowance {
 public:
  Allowance(double per_second, double most, PaceClock::time_point now)
      : per_second_(per_second), most_(most), left_(most), last_(now) {}

  bool Take(PaceClock::time_point now) {
    left_ = std::min(most_, left_ + SecondsBetween(last_, now) * per_second_);
    last_ = now;
    if (left_ < 1) return false;
    --left_;
    return true;
  }

 private:
  double per_second_;
  double most_;
  double left_;
  PaceClock::time_point last_;
};

}  // namespace locus::server
