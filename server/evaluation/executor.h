// Threads for evaluations, at a priority below that of all other calls.
//
// An evaluation computes for minutes on every thread that it gets, and must not
// make short calls slower. It therefore has its own thread pool, takes no
// worker of the Scheduler, and runs at the lowest priority: SCHED_IDLE on
// Linux, or niceness 19 where that is not permitted. A thread of a short call
// that wakes up preempts it at once. The pool leaves one processor free, if
// there are several. The drawback is that a server that is busy with short
// calls makes little progress on evaluations.
// docs/adr/0008-background-evaluations.md has the measurements.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/parallel/thread_pool.h"

namespace locus::server {

// Limits the number of concurrent evaluations, and owns their thread pool.
// Thread-safe.
class EvaluationExecutor {
 public:
  // The permission to run one evaluation; the destructor returns it. Must not
  // outlive the executor.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : executor_(other.executor_) {
      other.executor_ = nullptr;
    }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class EvaluationExecutor;
    explicit Slot(EvaluationExecutor* executor) : executor_(executor) {}
    EvaluationExecutor* executor_;
  };

  enum class Priority { kLowest, kNormal };

  // The pool has `threads` threads, or one less (but at least one) at the
  // lowest priority. At most `max_running` evaluations run at a time.
  EvaluationExecutor(int threads, int max_running, Priority priority);

  // Takes a slot without waiting. UNAVAILABLE if `max_running` evaluations run;
  // RESOURCE_EXHAUSTED (limit `max_evaluations`) if `max_running` is 0.
  absl::StatusOr<Slot> Enter() ABSL_LOCKS_EXCLUDED(mutex_);

  // The number of slots in use.
  int running() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The thread that starts parallel work on the pool takes part in it, and must
  // therefore call ApplyPriority() first.
  ThreadPool& pool() { return pool_; }
  // Gives the calling thread the priority of the pool's threads, permanently.
  void ApplyPriority() const;

 private:
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_);

  const int max_running_;
  const Priority priority_;
  ThreadPool pool_;
  mutable absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace locus::server
