// What all calls of one server share.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "core/parallel/thread_pool.h"
#include "server/evaluation/executor.h"
#include "server/admission/concurrency_limiter.h"
#include "server/admission/memory_budget.h"
#include "server/observability/metrics.h"
#include "server/config/options.h"
#include "server/admission/blocking_pool.h"

namespace locus::server {

// Counts calls, and lets a shutdown wait for the last one.
class CallCounter {
 public:
  void Enter() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ > 0) return;
    ++zeros_;
    none_left_.notify_all();
  }
  // Whether the count reached zero in time, if only for a moment: whoever comes
  // meanwhile is only told to go elsewhere.
  bool WaitForNone(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return none_left_.wait_until(lock, deadline, [this, before = zeros_] {
      return count_ == 0 || zeros_ > before;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  int count_ = 0;
  int64_t zeros_ = 0;  // how often the count came to zero
};

// Calls that wait with a thread each and their messages read. More than these
// wait at the door.
inline int MostReadCalls(const ServerOptions& options) {
  return std::min(options.max_queued_calls, 128);
}

struct ServerState {
  // `resolved` has no zeros that stand for defaults.
  explicit ServerState(const ServerOptions& resolved)
      : options(resolved),
        metrics(LOCUS_VERSION),
        budget(resolved.memory_budget_bytes),
        gate({.slots = resolved.threads,
              .max_queued = MostReadCalls(resolved),
              .max_wait_seconds = resolved.max_queue_seconds}),
        pool(resolved.threads, ComeSecond),
        background(resolved.threads, resolved.max_evaluations,
                   resolved.background_evaluations
                       ? Background::Priority::kLowest
                       : Background::Priority::kUsual) {}

  const ServerOptions options;
  Metrics metrics;
  MemoryBudget budget;
  ComputeGate gate;
  ThreadPool pool;
  Background background;
  CallCounter calls;
  std::atomic<bool> draining{false};
  // When evaluations have to end with what they have.
  std::atomic<std::chrono::steady_clock::time_point> evaluations_end{
      std::chrono::steady_clock::time_point::max()};
};

}  // namespace locus::server
