#include "server/rpc/unary_call.h"

#include <chrono>

#include "server/admission/rejection.h"
#include "server/rpc/poller.h"
#include "server/rpc/request_handling.h"

namespace locus::server {

UnaryCall::UnaryCall(CompletionQueuePoller* poller, size_t method)
    : poller_(*poller), method_(method), stream_(&context_) {
  context_.AsyncNotifyWhenDone(done_tag_.tag());
  info().request_next(&context_, &stream_, poller_.queue(), arrival_tag_.tag());
}

UnaryEnvironment& UnaryCall::environment() const {
  return poller_.environment();
}

std::optional<CostClass> UnaryCall::PredictCostClass() const {
  return info().info->cost_class_predictor.Predict();
}

double UnaryCall::seconds_to_deadline() const {
  return ToSeconds(context_.deadline() - std::chrono::system_clock::now());
}

bool UnaryCall::HasRoom() const {
  return environment().admission.HasRoom(PredictCostClass(),
                                         SecondsLeft(0, Clock::now()));
}

double UnaryCall::SecondsLeft(double slack, Clock::time_point now) const {
  return timing_.SecondsLeft(environment().admission.limits().max_queue_seconds,
                             state_ == State::kDeferred, slack, now);
}

bool UnaryCall::HasExpired() const {
  return timing_.AgeSeconds(Clock::now()) >
         environment().admission.limits().max_queue_seconds;
}

void UnaryCall::Admit() {
  admitted_at_ = Clock::now();
  if (state_ == State::kDeferred) deferred_for_ = admitted_at_ - arrival();
  state_ = State::kAdmitted;
  cost_class_ = PredictCostClass();
  environment().admission.OnAdmitted(cost_class_);
  watched_ = poller_.WatchRead(this);
  stream_.Read(&request_, read_tag_.tag());
}

void UnaryCall::Defer() {
  state_ = State::kDeferred;
  deferred_class_ = PredictCostClass();
}

void UnaryCall::Reject(const absl::Status& status) {
  state_ = State::kRejected;
  stream_.Finish(MakeScope()->Finish(status), sent_tag_.tag());
}

void UnaryCall::LeaveClass() {
  if (cost_class_) environment().admission.OnLeftClass(*cost_class_);
  cost_class_.reset();
}

void UnaryCall::OnArrival(bool ok) {
  if (!ok) return delete this;  // the server is shut down; no call will come
  timing_ = CallTiming(Clock::now(), seconds_to_deadline());
  state_ = State::kArrived;
  if (poller_.is_closed()) {  // the call arrived during the shutdown
    state_ = State::kFinished;
    return;
  }
  Request(&poller_, method_);
  poller_.OnArrival(this);
}

void UnaryCall::OnRead(bool /*ok*/) {
  environment().admission.OnRead();
  poller_.StopWatching(watched_);
  read_at_ = Clock::now();
  environment().workers.Run([this] { Work(); });
}

void UnaryCall::OnSent(bool /*ok*/) {
  if (state_ == State::kAdmitted) {
    (void)is_handled_.load(std::memory_order_acquire);
    scope_.reset();
    environment().admission.OnClosed();
  }
  state_ = State::kFinished;
  if (is_done_) delete this;
}

void UnaryCall::OnDone(bool /*ok*/) {
  is_done_ = true;
  if (state_ == State::kDeferred) {
    poller_.RemoveDeferred(this);
    CountAbandoned();
    delete this;
  } else if (state_ == State::kFinished) {
    delete this;
  }
}

std::unique_ptr<RpcScope> UnaryCall::MakeScope() {
  auto scope = std::make_unique<RpcScope>(&environment().state, info().info,
                                          &context_, arrival());
  scope->AddQueueTime(Clock::now() - arrival());
  return scope;
}

void UnaryCall::CountAbandoned() {
  environment()
      .state.metrics.rejected_calls(RejectReason::kDeadline)
      .Increment();
  MakeScope()->FinishCancelled(
      seconds_to_deadline() <= 0
          ? absl::DeadlineExceededError("the deadline passed")
          : absl::CancelledError("the call was cancelled"));
}

void UnaryCall::Work() {
  scope_.emplace(&environment().state, info().info, &context_, arrival());
  scope_->AddQueueTime(deferred_for_ + (Clock::now() - read_at_));
  // gRPC owns the response until it is sent. Its memory is freed before the
  // call counts as finished.
  grpc::ByteBuffer response;
  const absl::Status handled = HandleSafely(*scope_, &request_, [&] {
    return info().handle(*scope_, &request_, &response);
  });
  request_.Clear();
  if (handled.ok()) {
    scope_->CountSent(static_cast<int64_t>(response.Length()));
  }
  const grpc::Status status = scope_->Finish(handled);
  LeaveClass();
  environment().admission.OnHandled();
  is_handled_.store(true, std::memory_order_release);
  if (handled.ok()) {
    stream_.WriteAndFinish(response, grpc::WriteOptions(), status,
                           sent_tag_.tag());
  } else {
    stream_.Finish(status, sent_tag_.tag());
  }
}

}  // namespace locus::server
