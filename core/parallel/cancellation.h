// Cooperative cancellation of long computations.
//
// A caller passes a CancellationCheck down to the code that computes. Parallel
// work wraps it in one CancellationState that all of its threads share, and a
// thread whose work is measured in floating-point operations polls that state
// through a PeriodicCheck. Work that was cancelled leaves its results
// incomplete; its caller returns CancellationState::status() instead.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"

namespace locus {

// Returns OK to continue, or the status to stop with (CANCELLED or
// DEADLINE_EXCEEDED). Called from several threads at once, at most every few
// hundred microseconds. An empty function never cancels.
using CancellationCheck = std::function<absl::Status()>;

// Cancellation shared by the threads of one computation: polls the check and
// keeps the first status that is not OK. Thread-safe. `check` must outlive the
// state.
class CancellationState {
 public:
  explicit CancellationState(const CancellationCheck& check) : check_(check) {}
  CancellationState(const CancellationState&) = delete;
  CancellationState& operator=(const CancellationState&) = delete;

  bool ShouldStop() ABSL_LOCKS_EXCLUDED(mutex_) {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (!check_) return false;
    absl::Status status = check_();
    if (status.ok()) return false;
    const MutexLock lock(&mutex_);
    if (!stopped_.exchange(true)) status_ = std::move(status);
    return true;
  }
  // The status that the computation was stopped with, or OK. Call it after all
  // threads have finished.
  absl::Status status() ABSL_LOCKS_EXCLUDED(mutex_) {
    const MutexLock lock(&mutex_);
    return status_;
  }

 private:
  const CancellationCheck& check_;
  std::atomic<bool> stopped_ = false;
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Polls a CancellationState about every millisecond of work, estimated from the
// floating-point operations that its thread reports. For use by one thread.
class PeriodicCheck {
 public:
  // A null state never stops. Otherwise the state must outlive the check.
  explicit PeriodicCheck(CancellationState* state) : state_(state) {}

  // Reports work, in multiplications and additions. Returns true if the work
  // has been cancelled.
  bool After(double flops) {
    if (stopped_ || state_ == nullptr) return stopped_;
    constexpr double kFlopsBetweenPolls = 2e7;
    flops_since_poll_ += flops;
    if (flops_since_poll_ < kFlopsBetweenPolls) return false;
    flops_since_poll_ = 0;
    stopped_ = state_->ShouldStop();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  CancellationState* const state_;
  double flops_since_poll_ = 0;
  bool stopped_ = false;
};

}  // namespace locus
