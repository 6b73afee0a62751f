// How long something will still take, from how far it is.
#pragma once

#include <algorithm>

namespace locus::server {

// Takes the whole time to be what has passed over the share that is done, and
// follows it slowly: the first steps of anything are not like the others.
class RemainingTime {
 public:
  // `done_share` is from 0 to 1. Finite and not negative; 0 as long as nothing
  // is done, since nobody knows.
  double Update(double elapsed_seconds, double done_share) {
    if (!(done_share > 0)) return 0;
    if (done_share >= 1) return 0;
    const double total = elapsed_seconds / std::max(done_share, kLeastShare);
    total_seconds_ = total_seconds_ == 0
                         ? total
                         : total_seconds_ + kWeight * (total - total_seconds_);
    return std::max(0.0, total_seconds_ - elapsed_seconds);
  }

 private:
  static constexpr double kWeight = 0.2;
  static constexpr double kLeastShare = 1e-9;

  double total_seconds_ = 0;
};

}  // namespace locus::server
