#include "server/rpc/unary_call.h"

#include <algorithm>
#include <chrono>

#include "server/rpc/poller.h"
#include "server/admission/controller.h"
#include "server/rpc/request_handling.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

// How much of the longest wait may be expected of a call when it comes, and of
// one that was held, in all: what is expected is not what comes, and who has
// been held would never get in if nothing were left to it.
constexpr double kShareOfNew = 0.6;
constexpr double kShareOfHeld = 0.8;
// How long before its deadline a call should begin, that is not to be given up
// before it is answered: a share of the time it came with, and never more than
// that.
constexpr double kSpareShare = 0.5;
constexpr double kMostSpareSeconds = 0.25;

template <typename Duration>
double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Incoming::Incoming(Door* door, size_t method)
    : door_(*door), method_(method), stream_(&context_) {
  context_.AsyncNotifyWhenDone(ended_.tag());
  info().request_next(&context_, &stream_, door_.queue(), arrived_.tag());
}

Front& Incoming::front() const { return door_.front(); }

const UnaryMethod& Incoming::info() const { return *front().methods_[method_]; }

double Incoming::deadline_in() const {
  return Seconds(context_.deadline() - std::chrono::system_clock::now());
}

bool Incoming::HasRoom() const {
  return front().HasRoom(info(), SecondsLeft(0, Clock::now()));
}

double Incoming::SecondsLeft(double spare, Clock::time_point now) const {
  const double longest = (is_held_ ? kShareOfHeld : kShareOfNew) *
                         front().state_.options.max_queue_seconds;
  return std::min(longest, came_with_seconds_ - spare) - Seconds(now - came_);
}

bool Incoming::DeadlineAllows(double wait) const {
  return wait <= came_with_seconds_ - spare_seconds_ - Seconds(age());
}

bool Incoming::HasWaitedLongEnough() const {
  return Seconds(age()) > front().state_.options.max_queue_seconds;
}

void Incoming::LetIn() {
  held_for_ = is_held_ ? Clock::now() - came_ : Clock::duration::zero();
  is_held_ = false;
  ++front().open_;
  ++front().active_;
  ++front().reading_;
  is_let_in_ = true;
  let_in_ = Clock::now();
  watched_ = door_.Watch(this);
  lane_ = info().info->habit.Usual();
  if (lane_) ++front().active_in_lane_[static_cast<size_t>(*lane_)];
  stream_.Read(&request_, read_.tag());
}

void Incoming::Refuse(const absl::Status& why) {
  is_held_ = false;
  stream_.Finish(CallToCount()->Finish(why), sent_.tag());
}

void Incoming::Hold() {
  is_held_ = true;
  held_lane_ = info().info->habit.Usual();
}

void Incoming::LeaveLane() {
  if (lane_) --front().active_in_lane_[static_cast<size_t>(*lane_)];
  lane_.reset();
}

void Incoming::Arrived(bool ok) {
  if (!ok) return delete this;  // the server is shut down; no other comes
  came_ = Clock::now();
  came_with_seconds_ = deadline_in();
  spare_seconds_ =
      std::min(kMostSpareSeconds, kSpareShare * came_with_seconds_);
  if (door_.is_closed()) {  // it came as the server went
    is_sent_ = true;
    return;
  }
  new Incoming(&door_, method_);
  door_.Arrive(this);
}

void Incoming::Read(bool /*ok*/) {
  --front().reading_;
  door_.Unwatch(watched_);
  read_at_ = Clock::now();
  front().workers_.Run([this] { Work(); });
}

void Incoming::Sent(bool /*ok*/) {
  Leave();
  is_sent_ = true;
  if (is_over_) delete this;
}

void Incoming::Ended(bool /*ok*/) {
  is_over_ = true;
  if (is_held_) {
    door_.Forget(this);
    CountGone();
    delete this;
  } else if (is_sent_) {
    delete this;
  }
}

std::unique_ptr<Call> Incoming::CallToCount() {
  auto call =
      std::make_unique<Call>(&front().state_, info().info, &context_, came_);
  call->CountWait(age());
  return call;
}

void Incoming::CountGone() {
  front().state_.metrics.shed_calls(ShedReason::kDeadline).Increment();
  CallToCount()->EndUnanswered(
      deadline_in() <= 0 ? absl::DeadlineExceededError("the deadline passed")
                         : absl::CancelledError("the caller went away"));
}

void Incoming::Work() {
  call_.emplace(&front().state_, info().info, &context_, came_);
  call_->CountWait(held_for_ + (Clock::now() - read_at_));
  // gRPC's own until it is sent: its memory is free before it counts as such.
  grpc::ByteBuffer response;
  const absl::Status handled = HandleSafely(*call_, &request_, [&] {
    return info().handle(*call_, &request_, &response);
  });
  request_.Clear();
  if (handled.ok()) {
    call_->CountSent(static_cast<int64_t>(response.Length()));
  }
  const grpc::Status status = call_->Finish(handled);
  LeavePlace();
  is_handled_.store(true, std::memory_order_release);
  if (handled.ok()) {
    stream_.WriteAndFinish(response, grpc::WriteOptions(), status, sent_.tag());
  } else {
    stream_.Finish(status, sent_.tag());
  }
}

void Incoming::LeavePlace() {
  LeaveLane();
  --front().active_;
}

void Incoming::Leave() {
  if (!is_let_in_) return;
  // gRPC's queue orders this after the worker, but out of our sight.
  (void)is_handled_.load(std::memory_order_acquire);
  call_.reset();
  if (--front().open_ == 0) front().open_.notify_all();
}

}  // namespace locus::server
