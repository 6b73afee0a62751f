// State that all calls of one server share.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/parallel/thread_pool.h"
#include "server/admission/blocking_pool.h"
#include "server/admission/concurrency_limiter.h"
#include "server/admission/memory_budget.h"
#include "server/base/version.h"
#include "server/config/options.h"
#include "server/observability/metrics.h"

namespace locus::server {

// Counts the calls in progress, so that a shutdown can wait for the last one.
// Thread-safe.
class CallCounter {
 public:
  void Enter() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ > 0) return;
    ++zero_count_;
    reached_zero_.notify_all();
  }
  // Waits until the count is zero; false if the deadline passes first. It is
  // enough that the count was zero at one moment: calls that arrive later are
  // rejected because the server is draining.
  bool WaitForNone(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return reached_zero_.wait_until(
        lock, deadline, [this, before = zero_count_] {
          return count_ == 0 || zero_count_ > before;
        });
  }

 private:
  std::mutex mutex_;
  std::condition_variable reached_zero_;
  int count_ = 0;
  int64_t zero_count_ = 0;  // times that count_ has dropped to zero
};

// The maximum number of calls that wait for a slot with their message read and
// a thread each. Further calls are deferred.
inline int MaxReadCalls(const ServerOptions& options) {
  return std::min(options.max_queued_calls, 128);
}

// Owned by Server, and outlives all calls. Thread-safe as its members are.
struct ServerState {
  // `resolved` are options whose defaults have been filled in.
  explicit ServerState(const ServerOptions& resolved)
      : options(resolved),
        metrics(Version()),
        budget(resolved.memory_budget_bytes),
        limiter({.slots = resolved.threads,
                 .max_queued = MaxReadCalls(resolved),
                 .max_wait_seconds = resolved.max_queue_seconds}),
        pool(resolved.threads, LowerThreadPriority) {}

  const ServerOptions options;
  Metrics metrics;
  MemoryBudget budget;
  ConcurrencyLimiter limiter;
  ThreadPool pool;
  CallCounter calls;
  // Set when the shutdown begins: new calls are rejected.
  std::atomic<bool> draining{false};
  // The time at which evaluations must stop and send a partial summary. Set
  // when the shutdown begins.
  std::atomic<std::chrono::steady_clock::time_point> evaluations_end{
      std::chrono::steady_clock::time_point::max()};
};

}  // namespace locus::server
