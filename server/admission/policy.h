// The admission policy: which calls are read, computed, deferred and rejected.
//
// The policy depends on neither gRPC nor threads nor the clock: its functions
// receive events and their times, and return decisions. Scheduler applies the
// decisions to real calls, tests/server/admission/simulator.h to simulated
// ones.
//
// The way of a call:
//
//   OnArrival --> read --> OnRead --> worker --> OnPrepared --> OnFinish
//       |          ^                                 |   ^
//       v          |                                 v   |
//    deferred -----'                              queued for a worker
//
// A call is known before its message is read. It is admitted if there is
// capacity, which means that its message is read; otherwise it is deferred:
// queued unread, where it takes no thread and little memory, and occupies an
// HTTP/2 stream, which limits what its connection can send. When the message is
// there, the call waits for a worker, which prepares it: parses the message and
// finds out its cost. The worker then computes the call, or queues it for a
// worker of another cost class.
//
// *Cost classes.* Short calls (below 5 ms) and long ones have separate workers,
// so that no short call waits for a long one. The operating system divides the
// processors between them. See CostEstimator for how costs are estimated.
//
// *Fairness.* Within a class, methods share the workers by start-time fair
// queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the method that has received
// the least compute time is next, and a method that was idle gets no credit.
//
// *Deferral.* Messages are read ahead of the workers by `read_ahead_seconds`.
// The calls of a method that are deferred form an AdaptiveLifoQueue. Calls that
// are expected to be long, and to be served in time, are read at once, as long
// as their messages fit into `read_ahead_bytes`: they cost no more than if they
// were read later, and a small call among them is recognised.
//
// *Rejection.* A call is rejected on arrival if its expected wait in arrival
// order exceeds `slack` of the time that it may wait, which is the smaller of
// --max-queue-seconds and the time to its deadline. The rest is for the error
// of the estimate. With s the seconds that the queued calls of the class are
// expected to need, s_m those of the call's own method, r those of the running
// calls, and n methods with calls in the queue:
//
//   wait = (r / 2 + min(s, n * s_m)) / slots.
//
// Rejecting a call costs gRPC about as much as answering one that computes
// nothing, and frees its stream for the next call. At ten times its capacity, a
// server that rejected every excess call would do nothing else. A token bucket
// therefore limits these rejections; the remaining calls are deferred, and
// rejected when they have waited for as long as they may. A call that is known
// to be cheaper than its rejection is never rejected on arrival.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/admission/adaptive_lifo_queue.h"
#include "server/admission/cost_estimator.h"
#include "server/admission/rejection.h"
#include "server/admission/token_bucket.h"
#include "server/base/clock.h"

namespace locus::server {

enum class CostClass { kShort, kLong };
// "short" or "long".
absl::string_view NameOf(CostClass cost_class);
inline constexpr CostClass kCostClasses[] = {CostClass::kShort,
                                             CostClass::kLong};

// The constants of the policy. AdmissionSimulation.EveryParameterMatters shows
// what each is for.
struct AdmissionParameters {
  // Calls from this expected time on are long.
  double long_seconds = 5e-3;
  // The time by which reading is ahead of the workers.
  double read_ahead_seconds = 0.05;
  // A call whose message has been arriving for this long no longer counts as
  // read ahead, so that clients that send nothing do not keep others out.
  double stall_seconds = 0.1;
  // A call whose message has been arriving for this long is cancelled.
  double message_timeout_seconds = 120;
  // The share of the time that a call may wait, for which it may be expected to
  // wait.
  double slack = 0.7;
  // The share of an expected compute time that must be left before a deadline.
  // It is small, because the expectation may be ten times too high until the
  // first calls have been measured.
  double cost_share = 0.1;
  // The target and the interval of AdaptiveLifoQueue. The target exceeds
  // `slack`, so that a queue that early rejections keep in bounds stays FIFO.
  double overload_delay = 0.9;
  double overload_interval_seconds = 0.1;
  // CPU time of a rejection in gRPC 1.51, see docs/overload.md.
  double rejection_seconds = 1.5e-4;
  // Rejections on arrival, per second and slot, and at once after a quiet time.
  double rejections_per_second = 500;
  double rejection_burst = 1000;
  // The maximum number of rejections in one OnTick(), so that other events are
  // not delayed.
  int rejections_per_tick = 8;
  // The speed at which messages are parsed. A message that takes longer than
  // `long_seconds` is parsed by a worker for long calls.
  double parse_bytes_per_second = 1e9;
  // The smallest retry delay of a rejection.
  double min_retry_seconds = 5e-3;
};

// Not thread-safe.
class AdmissionPolicy {
 public:
  using Time = Clock::time_point;

  struct Limits {
    int slots = 1;       // processors
    size_t methods = 1;  // methods are numbered from 0
    // Calls that may wait, read or unread, and half of it for long ones. Calls
    // beyond it are deferred if the token bucket permits no rejection, up to
    // `max_deferred`.
    int max_queued = 1000;
    int max_deferred = 10'000;
    double max_wait_seconds = 2;  // --max-queue-seconds
    int64_t read_ahead_bytes = int64_t{1} << 30;
  };

  enum class Stage {
    kNew,
    kDeferred,   // queued unread
    kReading,    // the message is arriving
    kStalled,    // the same, and no longer counted as read ahead
    kCancelled,  // the same, and to be cancelled
    kReady,      // waits for a worker
    kPreparing,  // on a worker, its cost is not known yet
    kRunning,    // on a worker
    kDone
  };

  // A call, as far as the policy knows it. The caller owns it, keeps its
  // address, and sets the first four members before OnArrival(). The others
  // belong to the policy.
  struct Call {
    size_t method = 0;
    uint64_t connection = 0;  // distinguishes connections, in CostEstimator
    Time arrival{};
    Time deadline = Time::max();

    Stage stage = Stage::kNew;
    CostClass cost_class = CostClass::kShort;
    double seconds = 0;         // expected compute time
    int64_t message_bytes = 0;  // expected, and known once it is read
    bool is_prepared = false;
    Work work{};    // once prepared
    Time expiry{};  // the call may wait until then
    Time reading_since{};
    std::list<Call*>::iterator place{};
  };

  enum class Action { kAdmit, kDefer, kReject };
  struct Verdict {
    Action action = Action::kAdmit;
    // For rejections.
    RejectReason reason = RejectReason::kQueueFull;
    double wait_seconds = 0;  // the expected wait
    double retry_seconds = 0;
  };

  AdmissionPolicy(const Limits& limits, const AdmissionParameters& parameters,
                  Time now);

  // A call arrives. kAdmit: read its message. After kReject, the call is done.
  Verdict OnArrival(Time now, Call* call);
  // The message of an admitted call has arrived. kDefer: the call waits for a
  // worker, see TakeReady(). After kReject, the call is done.
  Verdict OnRead(Time now, Call* call, int64_t message_bytes);
  // A worker has prepared the call. kAdmit: compute it on the same worker;
  // kDefer: TakeReady() will return it again. After kReject, the call is done.
  Verdict OnPrepared(Time now, Call* call, const Work& work);
  // The call ends, in any stage: computed, failed or cancelled.
  // `compute_seconds` is the measured time, or 0 if it says nothing about the
  // cost. Calls that are done already are ignored.
  void OnFinish(Call* call, double compute_seconds);

  // The next call for a worker of that class, or null.
  Call* TakeReady(CostClass cost_class);

  // Decisions about calls that wait.
  struct Actions {
    std::vector<Call*> read;  // deferred calls that are admitted
    std::vector<std::pair<Call*, Verdict>> reject;  // these are done
    std::vector<Call*> cancel;  // their message takes too long
    bool more = false;          // call OnTick() again, there is more to reject
  };
  // Call it after every other event, and every 20 ms while calls are deferred
  // or read.
  Actions OnTick(Time now);

  // From now on every call that arrives, and every deferred call, is rejected.
  void StartDraining() { draining_ = true; }

  int deferred() const { return deferred_; }
  // Calls that are deferred or wait for a worker.
  int waiting() const {
    return deferred_ + At(CostClass::kShort).ready + At(CostClass::kLong).ready;
  }
  bool has_waiting_calls() const {
    return deferred_ > 0 || !reading_.empty() || !stalled_.empty();
  }
  // Calls that wait for a worker, calls on a worker, and those that compute.
  int ready(CostClass cost_class) const { return At(cost_class).ready; }
  int running(CostClass cost_class) const { return At(cost_class).running; }
  int computing(CostClass cost_class) const { return At(cost_class).computing; }
  // The expected wait of a call, if it arrived now and were served in order of
  // arrival.
  double EstimateWait(CostClass cost_class, size_t method) const;

 private:
  // The calls of one method in one class.
  struct Flow {
    explicit Flow(const AdmissionParameters& parameters)
        : deferred(parameters.overload_delay,
                   parameters.overload_interval_seconds) {}
    bool idle() const { return deferred.empty() && ahead == 0; }
    // The virtual time at which the next call that is admitted will start.
    double start_tag() const { return tag + ahead_seconds; }

    AdaptiveLifoQueue<Call> deferred;
    std::list<Call*> ready;  // oldest first
    int ahead = 0;           // calls that are reading or ready
    double ahead_seconds = 0;
    double deferred_seconds = 0;
    double tag = 0;  // compute time received, in virtual time
  };
  struct Class {
    std::vector<Flow> flows;  // by method
    int ready = 0;
    int ahead = 0;  // sums over the flows
    double ahead_seconds = 0;
    int deferred = 0;
    double deferred_seconds = 0;
    int64_t ahead_bytes = 0;
    int running = 0;    // calls on a worker
    int computing = 0;  // of these, calls that are prepared
    double running_seconds = 0;
    double virtual_time = 0;  // tag of the flow that was served last
  };

  Class& At(CostClass cost_class) {
    return classes_[static_cast<size_t>(cost_class)];
  }
  const Class& At(CostClass cost_class) const {
    return classes_[static_cast<size_t>(cost_class)];
  }
  // Bytes of messages that are read ahead.
  int64_t AheadBytes() const {
    return At(CostClass::kShort).ahead_bytes + At(CostClass::kLong).ahead_bytes;
  }
  Class& ClassOf(const Call& call) { return At(call.cost_class); }
  Flow& FlowOf(const Call& call) { return ClassOf(call).flows[call.method]; }
  CostClass CostClassOf(double seconds) const;
  // The seconds that a call adds to the estimates of waits.
  double CostOf(const Call& call) const;

  // Moves a call that is in no stage to `stage`, and out of its stage.
  void Enter(Stage stage, Call* call);
  void Leave(Call* call);
  void StartReading(Time now, Call* call);
  // Adds `sign` times the call to the sums of its stage.
  void Count(const Call& call, int sign);

  // Whether the message of the call may be read now.
  bool MayRead(const Call& call) const;
  // Whether the message of a long call may be read ahead.
  bool MayReadAhead(const Call& call) const;
  bool IsQueueFull(const Call& call) const;
  // The seconds that the call may still wait.
  double SecondsLeft(const Call& call, Time now) const;
  // Whether the call would still have time for some of its work.
  bool CanMeetDeadline(const Call& call, double wait, Time now) const;
  // Whether such a wait is too long for the call.
  bool IsLate(const Call& call, double wait, Time now) const;
  Verdict RejectionOf(const Call& call, double wait) const;
  Verdict Reject(Call* call, double wait) const;

  void AdmitDeferred(Time now, Class* queue, Actions* actions);
  void RejectExpired(Time now, Class* queue, Actions* actions);
  void WatchReads(Time now, Actions* actions);
  // Rejects a deferred call if the tick may reject another one.
  bool RejectDeferred(Call* call, Actions* actions);

  const Limits limits_;
  const AdmissionParameters parameters_;
  std::vector<CostEstimator> estimators_;  // by method
  std::vector<Class> classes_;
  TokenBucket early_rejections_;
  std::list<Call*> reading_;  // oldest first
  std::list<Call*> stalled_;  // oldest first
  size_t first_class_ = 0;    // classes take turns in OnTick()
  int deferred_ = 0;
  bool draining_ = false;
};

}  // namespace locus::server
