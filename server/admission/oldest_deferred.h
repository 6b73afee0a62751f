// The arrival times of the oldest deferred calls, shared by all pollers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

#include "server/base/clock.h"

namespace locus::server {

// Capacity becomes free for every poller at once, but pollers wake up one after
// the other. Each publishes the arrival of the call that it would admit next,
// so that the others leave room for calls that have waited notably longer.
// Thread-safe.
class OldestDeferred {
 public:
  // Min difference in arrival time at which a poller yields to another one.
  static constexpr std::chrono::milliseconds kTolerance{40};

  OldestDeferred(size_t poller_count, size_t method_count)
      : poller_count_(poller_count),
        method_count_(method_count),
        arrivals_(poller_count * method_count) {
    for (auto& arrival : arrivals_) arrival = Clock::time_point::max();
  }

  // Clock::time_point::max() says that the poller has no deferred call of this
  // method.
  void Publish(size_t poller, size_t method, Clock::time_point arrival) {
    arrivals_[poller * method_count_ + method].store(arrival,
                                                     std::memory_order_relaxed);
  }

  // Whether another poller has a call of this method that arrived notably
  // earlier.
  bool IsOlderElsewhere(size_t poller, size_t method,
                        Clock::time_point arrival) const {
    for (size_t other = 0; other < poller_count_; ++other) {
      if (other == poller) continue;
      const Clock::time_point oldest =
          arrivals_[other * method_count_ + method].load(
              std::memory_order_relaxed);
      if (oldest < arrival - kTolerance) return true;
    }
    return false;
  }

 private:
  const size_t poller_count_;
  const size_t method_count_;
  std::vector<std::atomic<Clock::time_point>> arrivals_;
};

}  // namespace locus::server
