#include "server/rpc/poller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/admission/controller.h"

namespace locus::server {
namespace {

using Clock = PaceClock;

// Calls of each method that gRPC may have in store for us at any time.
constexpr int kRequested = 32;
// Calls of a lane turned away in a second, for each thread that computes: two
// hundredths of its time, or three for long ones, of which fewer come: all that
// are too many hear so at once, at ten times what can be done. Those that are
// held for too long come on top.
constexpr double RefusalsPerSecond(Lane lane) {
  return lane == Lane::kShort ? 200 : 300;
}
// So many of a lane a door may turn away at once after a quiet time, which is a
// tenth of a second's work for it: all of a burst that are too many.
constexpr double kMostAtOnce = 1000;
// Calls that are turned away after they were held, before others are looked
// after again.
constexpr int kMostInARow = 8;
// So long a message may take its place, or be read while others are kept out,
// and how often it is looked at.
constexpr std::chrono::seconds kPatience(2);
constexpr std::chrono::milliseconds kLookAtReading(500);

}  // namespace

Door::Door(Front* front, size_t number,
           std::unique_ptr<grpc::ServerCompletionQueue> queue, int door_count)
    : front_(*front),
      number_(number),
      queue_{std::move(queue)},
      held_(front->methods_.size()) {
  for (const Lane lane : kLanes) {
    allowances_.emplace_back(
        RefusalsPerSecond(lane) * front->state_.options.threads / door_count,
        kMostAtOnce, Clock::now());
  }
}

void Door::Start() {
  for (size_t method = 0; method < held_.size(); ++method) {
    for (int i = 0; i < kRequested; ++i) new Incoming(this, method);
  }
  thread_ = std::thread([this] { Run(); });
}

// Only this door's own thread may close the queue: it alone knows that it asks
// nothing more of gRPC.
Door::~Door() {
  if (thread_.joinable()) {
    closing_.Set(queue(), std::chrono::system_clock::now(), nullptr);
    thread_.join();
  } else {
    queue_.is_closed = true;
    queue()->Shutdown();
    Run();
  }
}

grpc::CompletionQueue::NextStatus Door::AwaitNext(void** tag, bool* ok) {
  if (held_count_ == 0 && reading_.empty()) {
    return queue()->Next(tag, ok) ? grpc::CompletionQueue::GOT_EVENT
                                  : grpc::CompletionQueue::SHUTDOWN;
  }
  auto until = std::chrono::system_clock::now();
  if (!has_more_to_do_) until += held_count_ > 0 ? kLook : kLookAtReading;
  return queue()->AsyncNext(tag, ok, until);
}

void Door::Run() {
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto result = AwaitNext(&tag, &ok);
    if (result == grpc::CompletionQueue::SHUTDOWN) return;
    if (result == grpc::CompletionQueue::GOT_EVENT) {
      if (tag != nullptr) {
        QueueEvent::Of(tag)->Happen(ok);
      } else {
        queue_.is_closed = true;
        queue()->Shutdown();
      }
    }
    if (!reading_.empty()) TendReading();
    if (held_count_ > 0 || has_told_) TendHeld();
  }
}

std::list<Incoming*>::iterator Door::Watch(Incoming* call) {
  return reading_.insert(reading_.end(), call);
}

void Door::TendReading() {
  int left = front_.reading_;
  for (Incoming* const call : reading_) {
    if (call->read_for() <= kPatience) return;
    call->LeaveLane();
    if (left-- >= front_.most_ / 4 && front_.active_ >= front_.most_) {
      call->GiveUp();
    }
  }
}

void Door::Arrive(Incoming* call) {
  const size_t method = call->method();
  if (held_[method].empty() && call->HasRoom() &&
      !front_.IsOlderElsewhere(number_, method, call->came())) {
    return call->LetIn();
  }
  const Clock::time_point now = Clock::now();
  const double wait = WaitOf(*call);
  const bool will_have_room =
      front_.MayWait(call->info()) && call->HasTimeFor(wait, now);
  // Who has no lane mostly takes less than to be turned away.
  const std::optional<Lane> lane = call->info().info->habit.Usual();
  if (front_.state_.draining || front_.held_ >= front_.most_held_ ||
      (lane && !will_have_room &&
       allowances_[static_cast<size_t>(*lane)].Take(now))) {
    return call->Refuse(front_.WhyNoRoom(*call, wait));
  }
  call->Hold();
  held_[method].Add(call, call->begin_by(), front_.Pace(call->info()), now);
  CountHeld(*call, 1);
}

double Door::WaitOf(const Incoming& call) const {
  return held_[call.method()].Wait(front_.Pace(call.info()), Clock::now()) +
         front_.WaitInside(call.info());
}

void Door::Forget(Incoming* call) {
  held_[call->method()].Remove(call);
  CountHeld(*call, -1);
}

void Door::CountHeld(const Incoming& call, int change) {
  held_count_ += change;
  if (const std::optional<Lane> lane = call.held_lane()) {
    front_.held_in_lane_[static_cast<size_t>(*lane)] += change;
  }
  if ((front_.held_ += change) == 0) front_.held_.notify_all();
}

void Door::TendHeld() {
  // One of each method in turn, until nobody gets in any more.
  for (size_t refused = 0; refused < held_.size();) {
    refused = LetOneIn(next_tended_) ? 0 : refused + 1;
    next_tended_ = (next_tended_ + 1) % held_.size();
  }
  TurnAwayWhoWaitedTooLong();
  TellOldest();
}

bool Door::LetOneIn(size_t method) {
  Crowd<Incoming>& crowd = held_[method];
  if (crowd.empty()) return false;
  const double inside = front_.WaitInside(*front_.methods_[method]);
  const Clock::time_point now = Clock::now();
  Incoming* const call = crowd.Next(After(now, inside));
  if (!call->HasRoom() ||
      front_.IsOlderElsewhere(number_, method, call->came())) {
    return false;
  }
  crowd.LetIn(call, now);
  CountHeld(*call, -1);
  call->LetIn();
  return true;
}

void Door::TurnAwayWhoWaitedTooLong() {
  const auto is_over = [&](const Incoming& call) {
    return front_.state_.draining || call.HasWaitedLongEnough();
  };
  // One of each method in turn, until nobody has to go any more.
  int left = kMostInARow;
  for (size_t without = 0; left > 0 && without < held_.size();) {
    Incoming* const call = held_[next_to_leave_].NextToLeave(is_over);
    next_to_leave_ = (next_to_leave_ + 1) % held_.size();
    if (call == nullptr) {
      ++without;
      continue;
    }
    without = 0;
    --left;
    const double wait = WaitOf(*call);
    Forget(call);
    call->Refuse(front_.WhyNoRoom(*call, wait));
  }
  has_more_to_do_ = left == 0 && held_count_ > 0;
}

void Door::TellOldest() {
  has_told_ = held_count_ > 0;
  for (size_t method = 0; method < held_.size(); ++method) {
    const Incoming* const oldest = held_[method].OldestIfNext();
    front_.TellOldest(number_, method,
                      oldest ? oldest->came() : Clock::time_point::max());
  }
}

}  // namespace locus::server
