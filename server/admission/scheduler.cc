#include "server/admission/scheduler.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;

// With two workers per processor for short calls, the responses of two calls
// wake a poller up once. `locus load encode --concurrency 16` against
// `locusd --threads=1`, one processor each, relative to the version before this
// scheduler in alternating rounds (medians of three, busy machine): 1.1 times
// as many calls per second with two workers, and 0.67 times with one.
constexpr int WorkersPerSlot(CostClass cost_class) {
  return cost_class == CostClass::kShort ? 2 : 1;
}
// Deferred calls are examined at this interval when no event arrives.
constexpr std::chrono::milliseconds kPollInterval(20);
constexpr std::chrono::milliseconds kIdlePollInterval(1000);
std::string InMillis(double seconds) {
  return absl::StrFormat("%.0f ms", std::ceil(1e3 * std::max(seconds, 0.0)));
}

}  // namespace

void LowerThreadPriority() {
  // A larger value gives polling too much time under overload
  // (docs/adr/0003-polling-threads-and-priorities.md).
  constexpr int kNice = 2;
  static const int base = getpriority(PRIO_PROCESS, getpid());
  // On Linux this sets the priority of one thread, not of the process.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)),
              base + kNice);
}

Scheduler::Scheduler(const AdmissionPolicy::Limits& limits,
                     const AdmissionParameters& parameters,
                     const SendLimits& send_limits)
    : send_limits_(send_limits), policy_(limits, parameters, Clock::now()) {
  try {
    for (const CostClass cost_class : kCostClasses) {
      for (int i = 0; i < limits.slots * WorkersPerSlot(cost_class); ++i) {
        workers_.emplace_back([this, cost_class] { RunWorker(cost_class); });
      }
    }
  } catch (...) {
    StopWorkers();
    throw;
  }
}

Scheduler::~Scheduler() { StopWorkers(); }

void Scheduler::StopWorkers() {
  {
    const MutexLock lock(&mutex_);
    is_stopping_ = true;
    for (ConditionVariable& has_ready : has_ready_) has_ready.NotifyAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void Scheduler::RunWorker(CostClass cost_class) {
  LowerThreadPriority();
  for (;;) {
    AdmissionPolicy::Call* call = nullptr;
    {
      const MutexLock lock(&mutex_);
      HasReady(cost_class)
          .Wait(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            call = policy_.TakeReady(cost_class);
            return call != nullptr || is_stopping_;
          });
    }
    if (call == nullptr) return;
    static_cast<Task*>(call)->Run();
    // There may be room for deferred calls now.
    Poll();
  }
}

absl::Status Scheduler::StatusOf(const AdmissionPolicy::Call& call,
                                 const AdmissionPolicy::Verdict& verdict,
                                 Clock::time_point now) const {
  const absl::Duration retry = absl::Seconds(verdict.retry_seconds);
  switch (verdict.reason) {
    case RejectReason::kDraining:
      return Reject(verdict.reason, "the server is shutting down");
    case RejectReason::kDeadline:
      return Reject(
          verdict.reason,
          absl::StrCat("the call would wait about ",
                       InMillis(verdict.wait_seconds),
                       call.seconds > 0
                           ? absl::StrCat(" and take ", InMillis(call.seconds))
                           : "",
                       "; its deadline is in ",
                       InMillis(SecondsBetween(now, call.deadline)),
                       "; allow more time"),
          retry);
    default:
      return Reject(
          verdict.reason,
          absl::StrCat(
              "the server is busy: calls like this one wait for about ",
              InMillis(verdict.wait_seconds), ", and ", policy_.waiting(),
              " calls are waiting; try again"),
          retry);
  }
}

void Scheduler::OnArrival(Task* task) {
  const Clock::time_point now = Clock::now();
  absl::Status status;
  Action action = Action::kDefer;
  {
    const MutexLock lock(&mutex_);
    const AdmissionPolicy::Verdict verdict = policy_.OnArrival(now, task);
    action = verdict.action;
    if (action == Action::kReject) status = StatusOf(*task, verdict, now);
  }
  // A deferred call may be gone from here on.
  if (action == Action::kAdmit) task->Read();
  if (action == Action::kReject) task->Reject(status);
}

void Scheduler::OnRead(Task* task, int64_t message_bytes) {
  const Clock::time_point now = Clock::now();
  absl::Status status;
  {
    const MutexLock lock(&mutex_);
    const AdmissionPolicy::Verdict verdict =
        policy_.OnRead(now, task, message_bytes);
    if (verdict.action != Action::kReject) {
      // A worker may have the call from here on.
      return HasReady(task->cost_class).NotifyOne();
    }
    status = StatusOf(*task, verdict, now);
  }
  task->Reject(status);
}

Scheduler::Prepared Scheduler::OnPrepared(Task* task, const Work& work) {
  const Clock::time_point now = Clock::now();
  const MutexLock lock(&mutex_);
  const AdmissionPolicy::Verdict verdict = policy_.OnPrepared(now, task, work);
  if (verdict.action == Action::kReject) {
    return {verdict.action, StatusOf(*task, verdict, now)};
  }
  if (verdict.action == Action::kDefer) HasReady(task->cost_class).NotifyOne();
  return {verdict.action, absl::OkStatus()};
}

void Scheduler::OnFinish(Task* task, double compute_seconds) {
  const MutexLock lock(&mutex_);
  policy_.OnFinish(task, compute_seconds);
}

bool Scheduler::RemoveDeferred(Task* task) {
  const MutexLock lock(&mutex_);
  if (task->stage != AdmissionPolicy::Stage::kDeferred) return false;
  policy_.OnFinish(task, 0);
  changed_.NotifyAll();
  return true;
}

void Scheduler::OnSending(Task* task, int64_t bytes, double extra_seconds) {
  const Clock::time_point end =
      After(Clock::now(), extra_seconds + static_cast<double>(bytes) /
                                              send_limits_.bytes_per_second);
  const MutexLock lock(&mutex_);
  task->HasRead(0);
  sending_.emplace(end, task);
}

void Scheduler::OnSent(Task* task) {
  const MutexLock lock(&mutex_);
  std::erase_if(sending_,
                [task](const auto& entry) { return entry.second == task; });
}

Scheduler::Actions Scheduler::Tick(Clock::time_point now) {
  const int deferred = policy_.deferred();
  AdmissionPolicy::Actions decided = policy_.OnTick(now);
  Actions actions;
  for (AdmissionPolicy::Call* const call : decided.read) {
    actions.read.push_back(static_cast<Task*>(call));
  }
  for (const auto& [call, verdict] : decided.reject) {
    actions.reject.emplace_back(static_cast<Task*>(call),
                                StatusOf(*call, verdict, now));
  }
  // These calls must not end meanwhile, which needs the lock.
  for (AdmissionPolicy::Call* const call : decided.cancel) {
    static_cast<Task*>(call)->Cancel();
  }
  while (!sending_.empty() && sending_.begin()->first <= now) {
    Task* const task = sending_.begin()->second;
    sending_.erase(sending_.begin());
    // Other responses of the connection may have delayed this one.
    const double bytes =
        send_limits_.check_seconds * send_limits_.bytes_per_second;
    if (task->HasRead(static_cast<int64_t>(bytes))) {
      sending_.emplace(After(now, send_limits_.check_seconds), task);
    } else {
      task->Cancel();
    }
  }
  actions.more = decided.more;
  if (policy_.deferred() < deferred) changed_.NotifyAll();
  return actions;
}

void Scheduler::Apply(const Actions& actions) {
  for (Task* const task : actions.read) task->Read();
  for (const auto& [task, status] : actions.reject) task->Reject(status);
}

std::chrono::milliseconds Scheduler::Poll() {
  Actions actions;
  std::chrono::milliseconds next = kIdlePollInterval;
  {
    const MutexLock lock(&mutex_);
    if (policy_.has_waiting_calls()) {
      actions = Tick(Clock::now());
      next = kPollInterval;
    } else if (!sending_.empty()) {
      actions = Tick(Clock::now());
    }
  }
  Apply(actions);
  return actions.more ? std::chrono::milliseconds(0) : next;
}

void Scheduler::StartDraining() {
  const MutexLock lock(&mutex_);
  policy_.StartDraining();
}

bool Scheduler::WaitForNoneDeferred(Clock::time_point deadline) {
  const MutexLock lock(&mutex_);
  return changed_.WaitFor(&mutex_, deadline - Clock::now(),
                          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            return policy_.deferred() == 0;
                          });
}

int Scheduler::deferred() const {
  const MutexLock lock(&mutex_);
  return policy_.deferred();
}

int Scheduler::ready(CostClass cost_class) const {
  const MutexLock lock(&mutex_);
  return policy_.ready(cost_class);
}

int Scheduler::computing(CostClass cost_class) const {
  const MutexLock lock(&mutex_);
  return policy_.computing(cost_class);
}

}  // namespace locus::server
