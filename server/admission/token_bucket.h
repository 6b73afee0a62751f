// A token bucket: a rate limit that permits bursts.
#pragma once

#include <algorithm>

#include "server/base/clock.h"

namespace locus::server {

// Permits `per_second` operations a second in the long run, and up to
// `capacity` at once after a quiet time. Starts full. The caller passes the
// time to every function. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double per_second, double capacity, Clock::time_point now)
      : per_second_(per_second),
        capacity_(capacity),
        tokens_(capacity),
        last_(now) {}

  // Takes a token; false if the bucket is empty.
  bool Take(Clock::time_point now) {
    tokens_ =
        std::min(capacity_, tokens_ + SecondsBetween(last_, now) * per_second_);
    last_ = now;
    if (tokens_ < 1) return false;
    --tokens_;
    return true;
  }

 private:
  double per_second_;
  double capacity_;
  double tokens_;
  Clock::time_point last_;
};

}  // namespace locus::server
