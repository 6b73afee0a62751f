#include "server/rpc/poller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/admission/oldest_deferred.h"

namespace locus::server {
namespace {

// Pending requests per method: the number of calls that gRPC can accept while
// the poller is busy.
constexpr int kRequestedCalls = 32;
// The maximum rate of early rejections, per second, cost class and compute
// thread. They take 2 % of a thread's time, or 3 % for long calls. Long calls
// are fewer, so at ten times the capacity every excess long call can be
// rejected on arrival. Rejections of expired calls are not limited by this
// rate.
constexpr double RejectionsPerSecond(CostClass cost_class) {
  return cost_class == CostClass::kShort ? 200 : 300;
}
// The burst size of that limit, per poller and cost class: a tenth of a second
// of the poller's work, enough for all excess calls of a burst.
constexpr double kRejectionBurst = 1000;
// Expired calls that are rejected before other events are processed again.
constexpr int kMaxRejectionsPerWakeup = 8;
// Deferred calls are examined at this interval when no event arrives.
constexpr std::chrono::milliseconds kDeferredPollInterval(20);
// Published arrival times may be one interval out of date, and two pollers may
// examine their calls one interval apart, so smaller differences are noise.
static_assert(OldestDeferred::kTolerance == 2 * kDeferredPollInterval);
// A call whose message takes longer than this to arrive loses the capacity of
// its cost class. Calls whose messages are being read are examined at the
// interval.
constexpr std::chrono::seconds kReadTimeout(2);
constexpr std::chrono::milliseconds kReadPollInterval(500);

}  // namespace

CompletionQueuePoller::CompletionQueuePoller(
    UnaryEnvironment* environment, size_t index,
    std::unique_ptr<grpc::ServerCompletionQueue> queue)
    : environment_(*environment),
      admission_(environment->admission),
      index_(index),
      queue_{std::move(queue)},
      deferred_(environment->methods.size()) {
  for (const CostClass cost_class : kCostClasses) {
    early_rejections_.emplace_back(
        RejectionsPerSecond(cost_class) * admission_.limits().threads /
            static_cast<double>(environment_.poller_count),
        kRejectionBurst, Clock::now());
  }
}

void CompletionQueuePoller::Start() {
  for (size_t method = 0; method < deferred_.size(); ++method) {
    for (int i = 0; i < kRequestedCalls; ++i) UnaryCall::Request(this, method);
  }
  thread_ = std::thread([this] { Run(); });
}

// Only the poller's own thread may shut the queue down: it alone knows that no
// further operation will be started on it.
CompletionQueuePoller::~CompletionQueuePoller() {
  if (thread_.joinable()) {
    closing_.Set(queue(), std::chrono::system_clock::now(), nullptr);
    thread_.join();
  } else {
    queue_.is_closed = true;
    queue()->Shutdown();
    Run();
  }
}

grpc::CompletionQueue::NextStatus CompletionQueuePoller::AwaitNext(void** tag,
                                                                   bool* ok) {
  if (deferred_count_ == 0 && reading_.empty()) {
    return queue()->Next(tag, ok) ? grpc::CompletionQueue::GOT_EVENT
                                  : grpc::CompletionQueue::SHUTDOWN;
  }
  auto until = std::chrono::system_clock::now();
  if (!has_more_expired_) {
    until += deferred_count_ > 0 ? kDeferredPollInterval : kReadPollInterval;
  }
  return queue()->AsyncNext(tag, ok, until);
}

void CompletionQueuePoller::Run() {
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto result = AwaitNext(&tag, &ok);
    if (result == grpc::CompletionQueue::SHUTDOWN) return;
    if (result == grpc::CompletionQueue::GOT_EVENT) {
      if (tag != nullptr) {
        CompletionTag::Of(tag)->Proceed(ok);
      } else {
        queue_.is_closed = true;
        queue()->Shutdown();
      }
    }
    if (!reading_.empty()) ProcessSlowReads();
    if (deferred_count_ > 0 || has_published_) ProcessDeferred();
  }
}

std::list<UnaryCall*>::iterator CompletionQueuePoller::WatchRead(
    UnaryCall* call) {
  return reading_.insert(reading_.end(), call);
}

void CompletionQueuePoller::ProcessSlowReads() {
  int reading = admission_.reading();
  for (UnaryCall* const call : reading_) {
    if (call->read_time() <= kReadTimeout) return;
    call->LeaveClass();
    if (admission_.ShouldCancelSlowRead(reading--)) call->Cancel();
  }
}

void CompletionQueuePoller::OnArrival(UnaryCall* call) {
  const size_t method = call->method();
  if (deferred_[method].empty() && call->HasRoom() &&
      !environment_.oldest.IsOlderElsewhere(index_, method, call->arrival())) {
    return call->Admit();
  }
  const Clock::time_point now = Clock::now();
  const double wait = EstimateWait(*call);
  const std::optional<CostClass> cost_class = call->PredictCostClass();
  const bool can_wait =
      admission_.MayDefer(cost_class) && call->HasTimeFor(wait, now);
  // Methods without a predicted cost class are usually cheaper to serve than to
  // reject.
  if (admission_.draining() || admission_.IsDeferredFull() ||
      (cost_class && !can_wait &&
       early_rejections_[static_cast<size_t>(*cost_class)].Take(now))) {
    return RejectFor(wait, call);
  }
  call->Defer();
  deferred_[method].Add(call, call->start_by(), EstimateInterval(*call), now);
  ++deferred_count_;
  admission_.OnDeferred(call->deferred_class());
}

double CompletionQueuePoller::EstimateInterval(const UnaryCall& call) const {
  return admission_.EstimateInterval(call.PredictCostClass()) *
         static_cast<double>(environment_.poller_count);
}

double CompletionQueuePoller::EstimateWait(const UnaryCall& call) const {
  return deferred_[call.method()].EstimateWait(EstimateInterval(call),
                                               Clock::now()) +
         admission_.EstimateWait(call.PredictCostClass());
}

void CompletionQueuePoller::RejectFor(double wait, UnaryCall* call) {
  call->Reject(admission_.RejectionOf(
      {.cost_class = call->PredictCostClass(),
       .timing = call->timing(),
       .seconds_to_deadline = call->seconds_to_deadline(),
       .estimated_wait = wait},
      Clock::now()));
}

void CompletionQueuePoller::RemoveDeferred(UnaryCall* call) {
  deferred_[call->method()].Remove(call);
  --deferred_count_;
  admission_.OnUndeferred(call->deferred_class());
}

void CompletionQueuePoller::ProcessDeferred() {
  // One call of each method in turn, until no method has one to admit.
  for (size_t without = 0; without < deferred_.size();) {
    without = AdmitOne(next_to_admit_) ? 0 : without + 1;
    next_to_admit_ = (next_to_admit_ + 1) % deferred_.size();
  }
  RejectExpired();
  PublishOldest();
}

bool CompletionQueuePoller::AdmitOne(size_t method) {
  AdaptiveLifoQueue<UnaryCall>& queue = deferred_[method];
  if (queue.empty()) return false;
  const MethodInfo& info = *environment_.methods[method]->info;
  const double wait =
      admission_.EstimateWait(info.cost_class_predictor.Predict());
  const Clock::time_point now = Clock::now();
  UnaryCall* const call = queue.Next(After(now, wait));
  if (!call->HasRoom() ||
      environment_.oldest.IsOlderElsewhere(index_, method, call->arrival())) {
    return false;
  }
  queue.Admit(call, now);
  --deferred_count_;
  admission_.OnUndeferred(call->deferred_class());
  call->Admit();
  return true;
}

void CompletionQueuePoller::RejectExpired() {
  const auto is_expired = [&](const UnaryCall& call) {
    return admission_.draining() || call.HasExpired();
  };
  // One call of each method in turn, until no method has one to reject.
  int left = kMaxRejectionsPerWakeup;
  for (size_t without = 0; left > 0 && without < deferred_.size();) {
    UnaryCall* const call = deferred_[next_to_reject_].FindExpired(is_expired);
    next_to_reject_ = (next_to_reject_ + 1) % deferred_.size();
    if (call == nullptr) {
      ++without;
      continue;
    }
    without = 0;
    --left;
    const double wait = EstimateWait(*call);
    RemoveDeferred(call);
    RejectFor(wait, call);
  }
  has_more_expired_ = left == 0 && deferred_count_ > 0;
}

void CompletionQueuePoller::PublishOldest() {
  has_published_ = deferred_count_ > 0;
  for (size_t method = 0; method < deferred_.size(); ++method) {
    const UnaryCall* const oldest = deferred_[method].OldestIfNext();
    environment_.oldest.Publish(
        index_, method, oldest ? oldest->arrival() : Clock::time_point::max());
  }
}

}  // namespace locus::server
