// The state of a shutdown, and the calls it waits for.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "server/base/clock.h"

namespace locus::server {

// Counts calls, so that a shutdown can wait for the last one. Thread-safe.
class CallCounter {
 public:
  void Enter() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    ++count_;
  }
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    if (--count_ > 0) return;
    ++zero_count_;
    reached_zero_.NotifyAll();
  }
  // Waits until the count is zero; false if the deadline passes first. It is
  // enough that the count was zero at one moment: calls that arrive later are
  // rejected because the server is draining.
  bool WaitForNone(Clock::time_point deadline) ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    const int64_t before = zero_count_;
    return reached_zero_.WaitFor(&mutex_, deadline - Clock::now(),
                                 [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                   return count_ == 0 || zero_count_ > before;
                                 });
  }
  // Same, without a deadline.
  void WaitForNone() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    const int64_t before = zero_count_;
    reached_zero_.Wait(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return count_ == 0 || zero_count_ > before;
    });
  }

 private:
  Mutex mutex_;
  ConditionVariable reached_zero_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  // Times that count_ has dropped to zero.
  int64_t zero_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Thread-safe.
struct DrainState {
  // Set when the shutdown begins: new calls are rejected.
  std::atomic<bool> draining{false};
  // The time at which evaluations must stop and send a partial summary. Set
  // when the shutdown begins.
  std::atomic<Clock::time_point> evaluations_end{Clock::time_point::max()};
  // Calls that are handled, and not finished yet.
  CallCounter calls;
};

}  // namespace locus::server
