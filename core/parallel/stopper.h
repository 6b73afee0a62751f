// Stops parallel work: asks, remembers the first answer, tells everyone.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "core/parallel/cancellation.h"

namespace locus {

// Shared by the threads of one piece of work. `check` must outlive it.
class Stopper {
 public:
  explicit Stopper(const StopCheck& check) : check_(check) {}
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;

  bool ShouldStop() {
    if (stopped_.load(std::memory_order_relaxed)) return true;
    if (!check_) return false;
    absl::Status status = check_();
    if (status.ok()) return false;
    const std::lock_guard lock(mutex_);
    if (!stopped_.exchange(true)) status_ = std::move(status);
    return true;
  }
  // What it was stopped with, or OK. For after the work.
  absl::Status status() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  const StopCheck& check_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  absl::Status status_;
};

}  // namespace locus
