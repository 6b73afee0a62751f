#include "server/front.h"

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/call.h"
#include "server/crowd.h"
#include "server/method.h"
#include "server/pace.h"
#include "server/queue_event.h"
#include "server/status.h"

namespace locus::server {
namespace {

using Clock = std::chrono::steady_clock;

// Calls of each method that gRPC may have in store for us at any time.
constexpr int kRequested = 32;
// Calls that may be on their way even if none may wait.
constexpr int kOnTheWay = 16;
// How often calls that are held are looked at when nothing else happens.
constexpr std::chrono::milliseconds kLook(20);
// Calls of a lane turned away in a second, for each thread that computes: a
// hundredth of its time, or three for long ones, of which fewer come: all that
// are too many hear so at once, at ten times what can be done. Those that are
// held for too long come on top.
constexpr double RefusalsPerSecond(Lane lane) {
  return lane == Lane::kShort ? 50 : 300;
}
// So many may be turned away at once after a quiet time.
constexpr double kMostAtOnce = 300;
// How much of the longest wait may be expected of a call when it comes, and of
// one that was held, in all: what is expected is not what comes, and who has
// been held would never get in if nothing were left to it.
constexpr double kShareOfNew = 0.6;
constexpr double kShareOfHeld = 0.8;
// Calls that are held take up to 70 KiB each, most of it what gRPC has of the
// message (`./run storm --case attend --connections 64`: 480 MiB for 6400): so
// many at least, and an eighth of the memory for calls at most.
constexpr int kHeldAlways = 1000;
constexpr int kMostHeld = 10'000;
constexpr int64_t kHeldBytes = int64_t{70} << 10;
// Calls are read ahead of those that compute for so long, or so many for each
// thread: the rest waits at the door, where it takes no thread and less memory.
constexpr double kReadAheadSeconds = 0.05;
constexpr int kReadAheadCalls = 4;
// How long before its deadline a call should begin, that is not to be given up
// before it is answered: a share of the time it came with, and never more than
// that.
constexpr double kSpareShare = 0.5;
constexpr double kMostSpareSeconds = 0.25;
// Who is one too many should come back a little later.
constexpr absl::Duration kLeastDelay = absl::Milliseconds(100);
// Calls that are turned away after they were held, before others are looked
// after again.
constexpr int kMostInARow = 64;
// So long a message may take its place, or be read while others are kept out,
// and how often it is looked at.
constexpr std::chrono::seconds kPatience(2);
constexpr std::chrono::milliseconds kLookAtReading(500);

template <typename Duration>
double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// One of gRPC's queues, and the thread that attends to it.
class Door {
 public:
  Door(Front* front, size_t number,
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
  // Once no call is handled or held.
  ~Door();

  void Start();

  Front& front() { return front_; }
  grpc::ServerCompletionQueue* queue() { return queue_.queue.get(); }
  EventQueue* events() { return &queue_; }
  // Whether nothing may be asked of gRPC any more.
  bool is_closed() const { return queue_.is_closed; }

  // What becomes of a call that has just come. The call's own thread only, as
  // are all of these.
  void Arrive(Incoming* call);
  // A call that is held has gone away.
  void Forget(Incoming* call);
  // Keeps an eye on a call whose message is being read.
  std::list<Incoming*>::iterator Watch(Incoming* call);
  void Unwatch(std::list<Incoming*>::iterator call) { reading_.erase(call); }

 private:
  void Run();
  grpc::CompletionQueue::NextStatus AwaitNext(void** tag, bool* ok);
  void CountHeld(const Incoming& call, int change);
  // Lets in, or turns away, who has been held for long enough.
  void TendHeld();
  bool LetOneIn(size_t method);
  void TurnAwayWhoWaitedTooLong();
  // Tells the other doors who of this one is next.
  void TellOldest();
  // How long such a call would wait, at the door and inside.
  double WaitOf(const Incoming& call) const;
  // Whether a call that has no place is likely to get one in time.
  bool WillHaveRoom(const Incoming& call) const;
  // Sends away who has been read for too long.
  void TendReading();

  Front& front_;
  const size_t number_;
  EventQueue queue_;
  std::vector<Allowance> allowances_;  // of each lane
  std::vector<Crowd<Incoming>> held_;  // of each method
  int held_count_ = 0;
  size_t next_tended_ = 0;        // the method whose held calls are next
  bool has_more_to_do_ = false;   // whatever happens or not
  bool has_told_ = false;         // the other doors that somebody waits
  std::list<Incoming*> reading_;  // oldest first
  grpc::Alarm closing_;           // has no tag
  std::thread thread_;
};

// One call, from gRPC's word that it is there to the last that is heard of it.
class Incoming {
 public:
  Incoming(Door* door, size_t method)
      : door_(*door), method_(method), stream_(&context_) {
    context_.AsyncNotifyWhenDone(ended_.tag());
    info().request_next(&context_, &stream_, door_.queue(), arrived_.tag());
  }

  // Reads its message and handles it.
  void LetIn() {
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

  void Refuse(const absl::Status& why) {
    is_held_ = false;
    stream_.Finish(CallToCount()->Finish(why), sent_.tag());
  }

  void Hold() {
    is_held_ = true;
    held_lane_ = info().info->habit.Usual();
  }

  // Lets others in beside a call whose message takes its time.
  void LeaveLane() {
    if (lane_) --front().active_in_lane_[static_cast<size_t>(*lane_)];
    lane_.reset();
  }
  // Ends a call whose message does not come.
  void GiveUp() { context_.TryCancel(); }

  const UnaryMethod& info() const { return *front().methods_[method_]; }
  size_t method() const { return method_; }
  Clock::duration age() const { return Clock::now() - came_; }
  double deadline_in() const {
    return Seconds(context_.deadline() - std::chrono::system_clock::now());
  }
  bool HasRoom() const {
    return front().HasRoom(info(), SecondsLeft(0, Clock::now()));
  }
  // Whether it would begin in time, and with time to spare, if it waited for so
  // long from now on.
  bool HasTimeFor(double wait, Clock::time_point now) const {
    return wait <= SecondsLeft(spare_seconds_, now);
  }
  // Of those that are held, in the crowd of its method.
  Crowd<Incoming>::Place place;
  std::optional<Lane> held_lane() const { return held_lane_; }
  Clock::time_point came() const { return came_; }
  Clock::duration read_for() const { return Clock::now() - let_in_; }

 private:
  Front& front() const { return door_.front(); }

  // How long it may still wait, by our limits and by its own.
  double SecondsLeft(double spare, Clock::time_point now) const {
    const double longest = (is_held_ ? kShareOfHeld : kShareOfNew) *
                           front().state_.options.max_queue_seconds;
    return std::min(longest, came_with_seconds_ - spare) - Seconds(now - came_);
  }

  // What gRPC tells of it; the last of these deletes it.
  void Arrived(bool ok) {
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
  void Read(bool /*ok*/) {
    --front().reading_;
    door_.Unwatch(watched_);
    read_at_ = Clock::now();
    front().workers_.Run([this] { Work(); });
  }
  void Sent(bool /*ok*/) {
    Leave();
    is_sent_ = true;
    if (is_over_) delete this;
  }
  void Ended(bool /*ok*/) {
    is_over_ = true;
    if (is_held_) {
      door_.Forget(this);
      CountGone();
      delete this;
    } else if (is_sent_) {
      delete this;
    }
  }

  // To count a call that nobody has begun to handle.
  std::unique_ptr<Call> CallToCount() {
    auto call =
        std::make_unique<Call>(&front().state_, info().info, &context_, came_);
    call->CountWait(age());
    return call;
  }
  // Its caller gave up while it was held, for want of a place.
  void CountGone() {
    front().state_.metrics.shed_calls(ShedReason::kDeadline).Increment();
    CallToCount()->EndUnanswered(
        deadline_in() <= 0 ? absl::DeadlineExceededError("the deadline passed")
                           : absl::CancelledError("the caller went away"));
  }

  // On a worker. Once the answer is on its way, the call may be gone.
  void Work() {
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
      stream_.WriteAndFinish(response, grpc::WriteOptions(), status,
                             sent_.tag());
    } else {
      stream_.Finish(status, sent_.tag());
    }
  }

  // What is left is up to gRPC and the caller.
  void LeavePlace() {
    LeaveLane();
    --front().active_;
  }

  void Leave() {
    if (!is_let_in_) return;
    // gRPC's queue orders this after the worker, but out of our sight.
    (void)is_handled_.load(std::memory_order_acquire);
    call_.reset();
    if (--front().open_ == 0) front().open_.notify_all();
  }

  Door& door_;
  const size_t method_;
  grpc::ServerContext context_;
  UnaryStream stream_;
  grpc::ByteBuffer request_;
  // Counts the call, and holds its memory until the answer is sent.
  std::optional<Call> call_;
  std::optional<Lane> lane_;
  std::optional<Lane> held_lane_;  // when it was held
  Clock::time_point came_;
  double came_with_seconds_ = 0;  // until its deadline
  double spare_seconds_ = 0;
  Clock::time_point let_in_;
  Clock::time_point read_at_;
  Clock::duration held_for_{};
  std::list<Incoming*>::iterator watched_;
  std::atomic<bool> is_handled_ = false;
  bool is_let_in_ = false;
  bool is_held_ = false;
  bool is_sent_ = false;
  bool is_over_ = false;
  OwnEvent<Incoming> arrived_{this, &Incoming::Arrived};
  OwnEvent<Incoming> read_{this, &Incoming::Read};
  OwnEvent<Incoming> sent_{this, &Incoming::Sent};
  OwnEvent<Incoming> ended_{this, &Incoming::Ended};
};

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
  // Who has no lane mostly takes less than to be turned away.
  const std::optional<Lane> lane = call->info().info->habit.Usual();
  if (front_.state_.draining || front_.held_ >= front_.most_held_ ||
      (lane && !WillHaveRoom(*call) &&
       allowances_[static_cast<size_t>(*lane)].Take(Clock::now()))) {
    return call->Refuse(
        front_.WhyNoRoom(call->info(), WaitOf(*call), call->deadline_in()));
  }
  call->Hold();
  held_[method].Add(call, front_.Pace(call->info()), Clock::now());
  CountHeld(*call, 1);
}

double Door::WaitOf(const Incoming& call) const {
  return held_[call.method()].Wait(front_.Pace(call.info()), Clock::now()) +
         front_.WaitInside(call.info());
}

bool Door::WillHaveRoom(const Incoming& call) const {
  return front_.MayWait(call.info()) &&
         call.HasTimeFor(WaitOf(call), Clock::now());
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
  Incoming* const call = crowd.Next(
      [&](const Incoming& each) { return !each.HasTimeFor(inside, now); }, now);
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
  const std::chrono::duration<double> most(
      front_.state_.options.max_queue_seconds);
  const auto is_over = [&](const Incoming& call) {
    return front_.state_.draining || call.age() > most;
  };
  int left = kMostInARow;
  for (Crowd<Incoming>& crowd : held_) {
    for (; left > 0; --left) {
      Incoming* const call = crowd.NextToLeave(is_over);
      if (call == nullptr) break;
      const double wait = WaitOf(*call);
      Forget(call);
      call->Refuse(front_.WhyNoRoom(call->info(), wait, call->deadline_in()));
    }
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

Front::Front(ServerState* state, std::vector<const UnaryMethod*> methods)
    : state_(*state),
      methods_(std::move(methods)),
      most_(2 * state->options.threads +
            std::max(kOnTheWay, MostReadCalls(state->options))),
      most_held_(static_cast<int>(std::clamp<int64_t>(
          state->options.memory_budget_bytes / 8 / kHeldBytes, kHeldAlways,
          kMostHeld))),
      workers_({.threads = most_, .running = 4 * state->options.threads}) {}

Front::~Front() = default;

void Front::AddQueues(grpc::ServerBuilder* builder) {
  // One thread can attend to what two can compute.
  const int count = std::max(1, state_.options.threads / 2);
  for (int i = 0; i < count; ++i) {
    doors_.push_back(std::make_unique<Door>(
        this, doors_.size(), builder->AddCompletionQueue(), count));
  }
  oldest_ = std::vector<std::atomic<Clock::time_point>>(doors_.size() *
                                                        methods_.size());
  for (auto& oldest : oldest_) oldest = Clock::time_point::max();
}

EventQueue* Front::first_queue() { return doors_.front()->events(); }

void Front::Start() {
  for (const auto& door : doors_) door->Start();
}

void Front::Shutdown() {
  for (int n; (n = held_) > 0;) held_.wait(n);
  for (int n; (n = open_) > 0;) open_.wait(n);
  doors_.clear();
}

// Calls that are still being read have no place at the gate yet, but will: were
// they not counted, large ones would be read only to be turned away there.
bool Front::HasRoom(const UnaryMethod& method, double seconds) const {
  if (state_.draining || active_ >= most_) return false;
  const std::optional<Lane> lane = method.info->habit.Usual();
  if (!lane) return seconds > 0;
  const ComputeGate& gate = state_.gate;
  const int before = ActiveIn(*lane);
  if (before >= gate.places(*lane) || gate.IsShut(*lane)) return false;
  const double wait = gate.WaitBehind(*lane, before);
  if (wait == 0) return true;
  return wait <= seconds && (wait <= kReadAheadSeconds ||
                             before < kReadAheadCalls * state_.options.threads);
}

bool Front::MayWait(const UnaryMethod& method) const {
  const int most = state_.options.max_queued_calls;
  const int computing = state_.options.threads;
  if (method.info->habit.Usual() == Lane::kLong &&
      held_in_lane_[static_cast<size_t>(Lane::kLong)] +
              std::max(0, ActiveIn(Lane::kLong) - computing) >=
          (most + 1) / 2) {
    return false;
  }
  return held_ + std::max(0, active_ - computing) < most;
}

double Front::WaitInside(const UnaryMethod& method) const {
  const std::optional<Lane> lane = method.info->habit.Usual();
  return lane ? state_.gate.WaitBehind(*lane, ActiveIn(*lane)) : 0;
}

double Front::Pace(const UnaryMethod& method) const {
  const std::optional<Lane> lane = method.info->habit.Usual();
  return lane ? state_.gate.Pace(*lane) * static_cast<double>(doors_.size())
              : 0;
}

void Front::TellOldest(size_t door, size_t method, Clock::time_point came) {
  oldest_[door * methods_.size() + method].store(came,
                                                 std::memory_order_relaxed);
}

bool Front::IsOlderElsewhere(size_t door, size_t method,
                             Clock::time_point came) const {
  for (size_t other = 0; other < doors_.size(); ++other) {
    if (other == door) continue;
    const Clock::time_point oldest =
        oldest_[other * methods_.size() + method].load(
            std::memory_order_relaxed);
    if (oldest < came - 2 * kLook) return true;
  }
  return false;
}

absl::Status Front::WhyNoRoom(const UnaryMethod& method, double wait,
                              double deadline_in) const {
  if (state_.draining) {
    return Shed(ShedReason::kDraining, "the server is shutting down");
  }
  // Nobody is held for longer, so that then there is room.
  wait = std::min(wait, state_.options.max_queue_seconds);
  if (!MayWait(method)) {
    return Shed(ShedReason::kQueueFull,
                absl::StrCat("the server is busy and ", held_ + active_,
                             " calls are there already; try again"),
                std::max(kLeastDelay, absl::Seconds(wait / 2)));
  }
  if (deadline_in >= wait) return ComputeGate::TooLong(wait);
  const std::optional<Lane> lane = method.info->habit.Usual();
  return ComputeGate::TooLate(
      wait, lane ? state_.gate.Pace(*lane) * state_.options.threads : 0,
      deadline_in);
}

}  // namespace locus::server
