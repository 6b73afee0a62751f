// Estimate of the remaining time of a task from its progress.
#pragma once

#include <algorithm>

namespace locus::server {

// Estimates the total time as elapsed time / share done, and smooths the
// estimate with an EWMA, because the first steps of a task are not typical. Not
// thread-safe.
class RemainingTime {
 public:
  // Returns the estimated remaining seconds, finite and not negative.
  // `done_share` is from 0 to 1. Returns 0 while it is 0, because there is no
  // estimate yet.
  double Update(double elapsed_seconds, double done_share) {
    if (!(done_share > 0)) return 0;  // also if it is NaN
    if (done_share >= 1) return 0;
    const double total = elapsed_seconds / std::max(done_share, kMinShare);
    total_seconds_ = total_seconds_ == 0
                         ? total
                         : total_seconds_ + kWeight * (total - total_seconds_);
    return std::max(0.0, total_seconds_ - elapsed_seconds);
  }

 private:
  static constexpr double kWeight = 0.2;
  static constexpr double kMinShare = 1e-9;

  double total_seconds_ = 0;
};

}  // namespace locus::server
