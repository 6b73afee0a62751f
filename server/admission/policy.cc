#include "server/admission/policy.h"

#include <algorithm>

namespace locus::server {

absl::string_view NameOf(CostClass cost_class) {
  return cost_class == CostClass::kShort ? "short" : "long";
}

AdmissionPolicy::AdmissionPolicy(const Limits& limits,
                                 const AdmissionParameters& parameters,
                                 Time now)
    : limits_(limits),
      parameters_(parameters),
      estimators_(limits.methods, CostEstimator(limits.slots)),
      classes_(std::size(kCostClasses)),
      early_rejections_(parameters.rejections_per_second * limits.slots,
                        parameters.rejection_burst, now) {
  for (Class& cost_class : classes_) {
    for (size_t i = 0; i < limits.methods; ++i) {
      cost_class.flows.emplace_back(parameters);
    }
  }
}

// ---------------------------------------------------------------- estimates

CostClass AdmissionPolicy::CostClassOf(double seconds) const {
  return seconds < parameters_.long_seconds ? CostClass::kShort
                                            : CostClass::kLong;
}

double AdmissionPolicy::CostOf(const Call& call) const {
  return std::max(call.seconds, parameters_.rejection_seconds);
}

double AdmissionPolicy::EstimateWait(CostClass cost_class,
                                     size_t method) const {
  const Class& queue = At(cost_class);
  if (queue.running + queue.ahead + queue.deferred < limits_.slots) return 0;
  const Flow& flow = queue.flows[method];
  const auto active =
      std::count_if(queue.flows.begin(), queue.flows.end(),
                    [](const Flow& other) { return !other.idle(); });
  const double queued =
      std::min(queue.ahead_seconds + queue.deferred_seconds,
               static_cast<double>(active) *
                   (flow.ahead_seconds + flow.deferred_seconds));
  return (queue.running_seconds / 2 + queued) / limits_.slots;
}

double AdmissionPolicy::SecondsLeft(const Call& call, Time now) const {
  return SecondsBetween(now, call.expiry);
}

bool AdmissionPolicy::CanMeetDeadline(const Call& call, double wait,
                                      Time now) const {
  return call.deadline == Time::max() ||
         wait + parameters_.cost_share * call.seconds <=
             SecondsBetween(now, call.deadline);
}

bool AdmissionPolicy::IsLate(const Call& call, double wait, Time now) const {
  return (wait > 0 && wait > parameters_.slack * SecondsLeft(call, now)) ||
         !CanMeetDeadline(call, wait, now);
}

bool AdmissionPolicy::IsQueueFull(const Call& call) const {
  const auto waiting = [](const Class& one) {
    return one.ready + one.deferred;
  };
  const Class& long_calls = At(CostClass::kLong);
  if (call.cost_class == CostClass::kLong &&
      waiting(long_calls) >= (limits_.max_queued + 1) / 2) {
    return true;
  }
  return waiting(At(CostClass::kShort)) + waiting(long_calls) >=
         limits_.max_queued;
}

bool AdmissionPolicy::MayRead(const Call& call) const {
  const Class& queue = At(call.cost_class);
  if (call.message_bytes > 0 && queue.ahead > 0 &&
      AheadBytes() + call.message_bytes > limits_.read_ahead_bytes) {
    return false;
  }
  return queue.running + queue.ahead < 2 * limits_.slots ||
         queue.ahead_seconds < parameters_.read_ahead_seconds * limits_.slots;
}

bool AdmissionPolicy::MayReadAhead(const Call& call) const {
  return call.cost_class == CostClass::kLong &&
         AheadBytes() + call.message_bytes <= limits_.read_ahead_bytes;
}

AdmissionPolicy::Verdict AdmissionPolicy::RejectionOf(const Call& call,
                                                      double wait) const {
  Verdict verdict{.action = Action::kReject, .wait_seconds = wait};
  // No call waits for longer, so that there is room after this time.
  verdict.retry_seconds =
      std::max(parameters_.min_retry_seconds,
               std::min(wait, limits_.max_wait_seconds) / 2);
  if (draining_) {
    verdict.reason = RejectReason::kDraining;
  } else if (!IsQueueFull(call) && call.deadline <= call.expiry) {
    verdict.reason = RejectReason::kDeadline;
  }
  return verdict;
}

// ------------------------------------------------------------------- stages

void AdmissionPolicy::Count(const Call& call, int sign) {
  Class& queue = ClassOf(call);
  Flow& flow = FlowOf(call);
  const double seconds = sign * CostOf(call);
  switch (call.stage) {
    case Stage::kDeferred:
      deferred_ += sign;
      queue.deferred += sign;
      queue.deferred_seconds += seconds;
      flow.deferred_seconds += seconds;
      break;
    case Stage::kReady:
      queue.ready += sign;
      [[fallthrough]];
    case Stage::kReading:
      queue.ahead += sign;
      queue.ahead_bytes += sign * call.message_bytes;
      queue.ahead_seconds += seconds;
      flow.ahead += sign;
      flow.ahead_seconds += seconds;
      break;
    case Stage::kRunning:
      queue.computing += sign;
      [[fallthrough]];
    case Stage::kPreparing:
      queue.running += sign;
      queue.running_seconds += seconds;
      break;
    default:
      return;
  }
  // Sums of floating-point numbers drift; here their exact values are known.
  if (flow.deferred.empty()) flow.deferred_seconds = 0;
  if (flow.ahead == 0) flow.ahead_seconds = 0;
  if (queue.deferred == 0) queue.deferred_seconds = 0;
  if (queue.ahead == 0) queue.ahead_seconds = 0;
  if (queue.running == 0) queue.running_seconds = 0;
}

void AdmissionPolicy::Enter(Stage stage, Call* call) {
  Flow& flow = FlowOf(*call);
  // A flow that was idle gets no credit for the time in which it was.
  if (flow.idle()) flow.tag = std::max(flow.tag, ClassOf(*call).virtual_time);
  call->stage = stage;
  if (stage == Stage::kDeferred) {
    flow.deferred.Add(call);
  } else if (stage == Stage::kReading) {
    call->place = reading_.insert(reading_.end(), call);
  } else if (stage == Stage::kReady) {
    call->place = flow.ready.insert(flow.ready.end(), call);
  }
  Count(*call, 1);
}

void AdmissionPolicy::Leave(Call* call) {
  Flow& flow = FlowOf(*call);
  if (call->stage == Stage::kDeferred) {
    flow.deferred.Remove(call);
  } else if (call->stage == Stage::kReading) {
    reading_.erase(call->place);
  } else if (call->stage == Stage::kStalled) {
    stalled_.erase(call->place);
  } else if (call->stage == Stage::kReady) {
    flow.ready.erase(call->place);
  }
  Count(*call, -1);
  call->stage = Stage::kDone;
}

void AdmissionPolicy::StartReading(Time now, Call* call) {
  call->reading_since = now;
  Enter(Stage::kReading, call);
}

// ------------------------------------------------------------------- events

AdmissionPolicy::Verdict AdmissionPolicy::OnArrival(Time now, Call* call) {
  const CostEstimator& estimator = estimators_[call->method];
  call->seconds = estimator.Predict(call->connection);
  call->message_bytes = estimator.PredictBytes(call->connection);
  const bool is_cheap = estimator.Knows(call->connection) &&
                        call->seconds <= parameters_.rejection_seconds;
  call->cost_class = CostClassOf(call->seconds);
  call->expiry =
      std::min(call->deadline, After(call->arrival, limits_.max_wait_seconds));
  const double wait = EstimateWait(call->cost_class, call->method);
  if (draining_) return Reject(call, wait);
  const bool is_unwanted =
      IsLate(*call, wait, now) || (wait > 0 && IsQueueFull(*call));
  if (is_unwanted && !is_cheap && early_rejections_.Take(now)) {
    return Reject(call, wait);
  }
  if (FlowOf(*call).deferred.empty() &&
      (MayRead(*call) || (!is_unwanted && MayReadAhead(*call)))) {
    StartReading(now, call);
    return {};
  }
  if (deferred_ >= limits_.max_deferred) return Reject(call, wait);
  Enter(Stage::kDeferred, call);
  return {.action = Action::kDefer};
}

AdmissionPolicy::Verdict AdmissionPolicy::Reject(Call* call,
                                                 double wait) const {
  call->stage = Stage::kDone;
  return RejectionOf(*call, wait);
}

// Most messages are quick to parse, whatever their call computes, so that a
// worker for short calls prepares them.
AdmissionPolicy::Verdict AdmissionPolicy::OnRead(Time now, Call* call,
                                                 int64_t message_bytes) {
  Leave(call);
  // The time that a client takes to send its message is not waiting.
  call->expiry =
      std::min(call->deadline, call->expiry + (now - call->reading_since));
  const double parse_seconds =
      static_cast<double>(message_bytes) / parameters_.parse_bytes_per_second;
  const CostClass parse_class = CostClassOf(parse_seconds);
  if (call->cost_class == CostClass::kLong &&
      parse_class == CostClass::kShort) {
    call->seconds = 0;
  }
  call->seconds = std::max(call->seconds, parse_seconds);
  call->cost_class = CostClassOf(call->seconds);
  call->message_bytes = message_bytes;
  // The size of a message from an unknown connection is a surprise.
  if (parse_class == CostClass::kLong && At(CostClass::kLong).ahead > 0 &&
      AheadBytes() + message_bytes > limits_.read_ahead_bytes) {
    Verdict verdict =
        Reject(call, EstimateWait(CostClass::kLong, call->method));
    verdict.reason = RejectReason::kMemory;
    return verdict;
  }
  Enter(Stage::kReady, call);
  return {.action = Action::kDefer};
}

AdmissionPolicy::Call* AdmissionPolicy::TakeReady(CostClass cost_class) {
  Class& queue = At(cost_class);
  if (queue.ready == 0) return nullptr;
  Flow* next = nullptr;
  for (Flow& flow : queue.flows) {
    if (flow.ready.empty()) continue;
    if (next == nullptr || flow.tag < next->tag) next = &flow;
  }
  Call* const call = next->ready.front();
  Leave(call);
  queue.virtual_time = next->tag;
  next->tag += CostOf(*call);
  Enter(call->is_prepared ? Stage::kRunning : Stage::kPreparing, call);
  return call;
}

AdmissionPolicy::Verdict AdmissionPolicy::OnPrepared(Time now, Call* call,
                                                     const Work& work) {
  const bool is_on_short_worker = call->cost_class == CostClass::kShort;
  const double charged = CostOf(*call);
  Leave(call);
  CostEstimator& estimator = estimators_[call->method];
  call->is_prepared = true;
  call->work = work;
  call->seconds = estimator.Expect(work);
  estimator.OnExpected(call->connection, call->seconds, call->message_bytes);
  if (is_on_short_worker && CostClassOf(call->seconds) == CostClass::kLong) {
    call->cost_class = CostClass::kLong;
    const double wait = EstimateWait(CostClass::kLong, call->method);
    if (IsLate(*call, wait, now) || (wait > 0 && IsQueueFull(*call))) {
      return Reject(call, wait);
    }
    Enter(Stage::kReady, call);
    return {.action = Action::kDefer};
  }
  // Large messages of unknown connections may have waited for too long.
  const bool is_expired = !is_on_short_worker && now >= call->expiry &&
                          limits_.max_wait_seconds > 0;
  if (is_expired || !CanMeetDeadline(*call, 0, now)) {
    return Reject(call, 0);
  }
  // Corrects the charge of the flow, which was based on the prediction.
  FlowOf(*call).tag += CostOf(*call) - charged;
  Enter(Stage::kRunning, call);
  return {};
}

void AdmissionPolicy::OnFinish(Call* call, double compute_seconds) {
  if (call->stage == Stage::kDone) return;
  Leave(call);
  if (compute_seconds > 0) {
    estimators_[call->method].OnMeasured(call->work, compute_seconds);
  }
}

// --------------------------------------------------------------------- ticks

AdmissionPolicy::Actions AdmissionPolicy::OnTick(Time now) {
  Actions actions;
  WatchReads(now, &actions);
  if (deferred_ == 0) return actions;
  // The classes take turns, so that neither uses up all rejections.
  first_class_ = 1 - first_class_;
  for (size_t i = 0; i < classes_.size(); ++i) {
    Class& queue = classes_[(first_class_ + i) % classes_.size()];
    if (queue.deferred == 0) continue;
    for (Flow& flow : queue.flows) flow.deferred.Update(now);
    RejectExpired(now, &queue, &actions);
    if (!draining_) AdmitDeferred(now, &queue, &actions);
  }
  return actions;
}

void AdmissionPolicy::WatchReads(Time now, Actions* actions) {
  while (!reading_.empty()) {
    Call* const call = reading_.front();
    if (SecondsBetween(call->reading_since, now) < parameters_.stall_seconds) {
      break;
    }
    Count(*call, -1);
    call->stage = Stage::kStalled;
    stalled_.splice(stalled_.end(), reading_, call->place);
  }
  while (!stalled_.empty()) {
    Call* const call = stalled_.front();
    if (SecondsBetween(call->reading_since, now) <
        parameters_.message_timeout_seconds) {
      break;
    }
    if (static_cast<int>(actions->cancel.size()) >=
        parameters_.rejections_per_tick) {
      actions->more = true;
      break;
    }
    stalled_.pop_front();
    call->stage = Stage::kCancelled;
    actions->cancel.push_back(call);
  }
}

bool AdmissionPolicy::RejectDeferred(Call* call, Actions* actions) {
  if (static_cast<int>(actions->reject.size()) >=
      parameters_.rejections_per_tick) {
    actions->more = true;
    return false;
  }
  const double wait = EstimateWait(call->cost_class, call->method);
  Leave(call);
  actions->reject.emplace_back(call, RejectionOf(*call, wait));
  return true;
}

void AdmissionPolicy::RejectExpired(Time now, Class* queue, Actions* actions) {
  // One call of each method in turn, so that none has to wait for another.
  for (bool found = true; found;) {
    found = false;
    for (Flow& flow : queue->flows) {
      if (flow.deferred.empty()) continue;
      Call* const oldest = flow.deferred.Oldest();
      if (!draining_ && now < oldest->expiry) continue;
      if (!RejectDeferred(oldest, actions)) return;
      found = true;
    }
  }
}

void AdmissionPolicy::AdmitDeferred(Time now, Class* queue, Actions* actions) {
  while (queue->deferred > 0) {
    Flow* next = nullptr;
    for (Flow& flow : queue->flows) {
      if (flow.deferred.empty()) continue;
      if (next == nullptr || flow.start_tag() < next->start_tag()) next = &flow;
    }
    next->deferred.Update(now);
    Call* const call = next->deferred.Next();
    if (!MayRead(*call)) return;
    if (!CanMeetDeadline(*call, queue->ahead_seconds / limits_.slots, now)) {
      if (!RejectDeferred(call, actions)) return;
      continue;
    }
    Leave(call);
    StartReading(now, call);
    actions->read.push_back(call);
  }
}

}  // namespace locus::server
