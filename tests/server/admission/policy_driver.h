// Drives an AdmissionPolicy through events at a fake time, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/admission/policy.h"

namespace locus::server {

// A call that arrives.
struct PolicyArrival {
  size_t method = 0;
  uint64_t connection = 1;
  double deadline = 0;  // seconds from now; 0: none
  int64_t message_bytes = 0;
};

class PolicyDriver {
 public:
  using Arrival = PolicyArrival;
  using Call = AdmissionPolicy::Call;
  using Verdict = AdmissionPolicy::Verdict;
  using Action = AdmissionPolicy::Action;
  using Actions = AdmissionPolicy::Actions;
  using Stage = AdmissionPolicy::Stage;

  explicit PolicyDriver(const AdmissionPolicy::Limits& limits = {},
                        const AdmissionParameters& parameters = {})
      : slots_(limits.slots), policy_(limits, parameters, now_) {}

  AdmissionPolicy& policy() { return policy_; }
  Clock::time_point now() const { return now_; }
  void Advance(double seconds) { now_ = After(now_, seconds); }
  // The verdict of the last event that had one.
  const Verdict& verdict() const { return verdict_; }

  Call* New(const Arrival& arrival) {
    calls_.push_back(std::make_unique<Call>());
    Call* const call = calls_.back().get();
    call->method = arrival.method;
    call->connection = arrival.connection;
    call->arrival = now_;
    if (arrival.deadline > 0) call->deadline = After(now_, arrival.deadline);
    return call;
  }
  Call* Arrive(const Arrival& arrival) {
    Call* const call = New(arrival);
    verdict_ = policy_.OnArrival(now_, call);
    return call;
  }
  Call* Arrive() { return Arrive(Arrival()); }
  // A call that arrives, and whose message is there at once.
  Call* ArriveAndRead(const Arrival& arrival = {}) {
    Call* const call = Arrive(arrival);
    policy_.OnRead(now_, call, arrival.message_bytes);
    return call;
  }
  // Work that is expected to take this long, while nothing is measured.
  Work WorkOf(double seconds) const {
    return {.flops = (seconds - 30e-6) * 2e10 * slots_};
  }
  Action Prepare(Call* call, double seconds) {
    verdict_ = policy_.OnPrepared(now_, call, WorkOf(seconds));
    return verdict_.action;
  }
  // Makes a connection known for calls of this cost. The server must be idle.
  void Teach(double seconds, const Arrival& arrival = {}) {
    policy_.OnFinish(Start(seconds, arrival), 0);
  }
  // Starts a call on an idle worker.
  Call* Start(double seconds, const Arrival& arrival = {}) {
    Call* const call = ArriveAndRead(arrival);
    policy_.TakeReady(call->cost_class);
    if (Prepare(call, seconds) == Action::kDefer) {
      policy_.TakeReady(CostClass::kLong);
    }
    return call;
  }
  Actions Tick() { return policy_.OnTick(now_); }

 private:
  const int slots_;
  Clock::time_point now_{std::chrono::hours(1)};
  AdmissionPolicy policy_;
  Verdict verdict_;
  std::vector<std::unique_ptr<Call>> calls_;
};

}  // namespace locus::server
