// Applies the decisions of AdmissionPolicy to calls, and runs them on workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "server/admission/policy.h"
#include "server/base/clock.h"

namespace locus::server {

// Lowers the priority of the calling thread a little. Threads that compute call
// it, so that pollers, health checks and metrics run first under overload.
void LowerThreadPriority();

// Thread-safe. Owns the workers, which are started by the constructor, so that
// a server that cannot have them fails at its start. The constructor throws
// std::system_error in that case.
class Scheduler {
 public:
  // A call. The scheduler calls its functions without holding a lock, except
  // for Cancel(), on any thread.
  class Task : public AdmissionPolicy::Call {
   public:
    // Starts to read the message. OnRead() follows, or OnFinish() if there is
    // none.
    virtual void Read() = 0;
    // Prepares the call, and calls OnPrepared(); or computes it, if it is
    // prepared. OnFinish() follows. Runs on a worker.
    virtual void Run() = 0;
    // Sends this status.
    virtual void Reject(const absl::Status& status) = 0;
    // Cancels the call. Must not call the scheduler.
    virtual void Cancel() = 0;
    // Whether the client has read at least this much of all its responses since
    // the last call. Must not call the scheduler.
    virtual bool HasRead(int64_t bytes) = 0;

   protected:
    ~Task() = default;
  };

  // How fast clients must read responses.
  struct SendLimits {
    double bytes_per_second = 1 << 20;
    double check_seconds = 10;
  };

  explicit Scheduler(const AdmissionPolicy::Limits& limits)
      : Scheduler(limits, {}, {}) {}
  Scheduler(const AdmissionPolicy::Limits& limits,
            const AdmissionParameters& parameters,
            const SendLimits& send_limits);
  // Requires that no call is left.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // A call has arrived: admits, defers or rejects it.
  void OnArrival(Task* task) ABSL_LOCKS_EXCLUDED(mutex_);
  // The message has arrived: queues the call for a worker, or rejects it.
  void OnRead(Task* task, int64_t message_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The cost of a call is known; call it in Run(). kAdmit: the worker shall
  // compute the call. kDefer: Run() must return at once, because another worker
  // may have the call already. kReject: the call must send `status`.
  struct Prepared {
    AdmissionPolicy::Action action = AdmissionPolicy::Action::kAdmit;
    absl::Status status;
  };
  Prepared OnPrepared(Task* task, const Work& work) ABSL_LOCKS_EXCLUDED(mutex_);
  // The call no longer needs its worker. See AdmissionPolicy::OnFinish().
  void OnFinish(Task* task, double compute_seconds) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes a call if it is deferred; returns whether it was.
  bool RemoveDeferred(Task* task) ABSL_LOCKS_EXCLUDED(mutex_);

  // A message of a call is being sent, until OnSent(). If the client does not
  // read as fast as SendLimits demands, after `extra_seconds`, the call is
  // cancelled.
  void OnSending(Task* task, int64_t bytes, double extra_seconds)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSent(Task* task) ABSL_LOCKS_EXCLUDED(mutex_);

  // Starts and rejects deferred calls, and cancels stuck ones. Pollers call it
  // after every event, and within the time that it returns.
  std::chrono::milliseconds Poll() ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on every call that arrives or is deferred is rejected.
  void StartDraining() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until no call is deferred; false if the deadline passes first.
  bool WaitForNoneDeferred(Clock::time_point deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // For metrics.
  int deferred() const ABSL_LOCKS_EXCLUDED(mutex_);
  int ready(CostClass cost_class) const ABSL_LOCKS_EXCLUDED(mutex_);
  int computing(CostClass cost_class) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RunWorker(CostClass cost_class) ABSL_LOCKS_EXCLUDED(mutex_);
  void StopWorkers() ABSL_LOCKS_EXCLUDED(mutex_);
  ConditionVariable& HasReady(CostClass cost_class) {
    return has_ready_[static_cast<size_t>(cost_class)];
  }
  absl::Status StatusOf(const AdmissionPolicy::Call& call,
                        const AdmissionPolicy::Verdict& verdict,
                        Clock::time_point now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Decisions that are applied once the lock is released.
  struct Actions {
    std::vector<Task*> read;
    std::vector<std::pair<Task*, absl::Status>> reject;
    bool more = false;
  };
  Actions Tick(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Apply(const Actions& actions);

  const SendLimits send_limits_;
  mutable Mutex mutex_;
  ConditionVariable has_ready_[std::size(kCostClasses)];
  ConditionVariable changed_;  // fewer calls are deferred
  AdmissionPolicy policy_ ABSL_GUARDED_BY(mutex_);
  // Large responses that are being sent, by the time at which to cancel them.
  std::multimap<Clock::time_point, Task*> sending_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace locus::server
