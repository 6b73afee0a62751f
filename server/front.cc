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

#include "server/call.h"
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
// message: so many at least, and an eighth of the memory for calls at most.
constexpr int kHeldAlways = 1000;
constexpr int kMostHeld = 10'000;
constexpr int64_t kHeldBytes = int64_t{70} << 10;
// Calls are read ahead of those that compute for so long, or so many for each
// thread: the rest waits at the door, where it takes no thread and no memory.
constexpr double kReadAheadSeconds = 0.05;
constexpr int kReadAheadCalls = 4;
// Who has less time left than this beside what it has to wait is likely to give
// up before it has the answer.
constexpr double kBrinkSeconds = 0.25;
// So long a message may take its place, or be read while others are kept out,
// and how often it is looked at.
constexpr std::chrono::seconds kPatience(2);
constexpr std::chrono::milliseconds kLookAtReading(500);

template <typename Duration>
double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// Calls of one method that are held.
class Crowd {
 public:
  using Calls = std::list<Incoming*>;

  bool empty() const { return calls_.empty(); }
  Incoming* oldest() const { return calls_.front(); }
  Incoming* newest() const { return calls_.back(); }

  // guess: at the seconds between two that are let in.
  Calls::iterator Add(Incoming* call, double guess) {
    if (calls_.empty()) pace_.Begin(guess, Clock::now());
    return calls_.insert(calls_.end(), call);
  }
  void Forget(Calls::iterator call) { calls_.erase(call); }
  void LetIn(Calls::iterator call) {
    pace_.Step(Clock::now());
    calls_.erase(call);
  }
  // How long another would be held if the oldest are let in first.
  double Wait(double guess) const {
    const auto before = static_cast<double>(calls_.size());
    return (before + 1) * (calls_.empty() ? guess : pace_.seconds());
  }

 private:
  Calls calls_;  // oldest first
  Pace pace_;    // of letting in, while some are held
};

// One of gRPC's queues, and the thread that attends to it.
class Door {
 public:
  Door(Front* front, std::unique_ptr<grpc::ServerCompletionQueue> queue,
       int door_count)
      : front_(*front),
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
  void Forget(Incoming* call, std::list<Incoming*>::iterator held);
  // Keeps an eye on a call whose message is being read.
  std::list<Incoming*>::iterator Watch(Incoming* call);
  void Unwatch(std::list<Incoming*>::iterator call) { reading_.erase(call); }

 private:
  void Run();
  grpc::CompletionQueue::NextStatus AwaitNext(void** tag, bool* ok);
  void CountHeld(int change);
  // Lets in, or sends away, what has been held for long enough.
  void TendHeld();
  void TendHeld(Crowd& crowd);
  // How long such a call would wait, at the door and inside.
  double WaitOf(const UnaryMethod& method, const Crowd& crowd) const;
  // Whether a call that has no place is likely to get one in time.
  bool WillHaveRoom(const Incoming& call) const;
  // Sends away who has been read for too long.
  void TendReading();

  Front& front_;
  EventQueue queue_;
  std::vector<Allowance> allowances_;  // of each lane
  std::vector<Crowd> held_;            // of each method
  int held_count_ = 0;
  size_t next_tended_ = 0;        // the method whose held calls are next
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

  // wait: what such a call has to expect.
  void Refuse(double wait) {
    is_held_ = false;
    const absl::Status why = front().WhyNoRoom(info(), wait, deadline_in());
    stream_.Finish(CallToCount()->Finish(why), sent_.tag());
  }

  // `place`: among those that are held.
  void Hold(std::list<Incoming*>::iterator place) {
    is_held_ = true;
    held_at_ = place;
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
  // How long it may still wait, by our limits and by its own.
  double seconds_left(double spare = 0) const {
    const double longest = (is_held_ ? kShareOfHeld : kShareOfNew) *
                           front().state_.options.max_queue_seconds;
    return std::min(longest - Seconds(age()), deadline_in() - spare);
  }
  double deadline_in() const {
    return Seconds(context_.deadline() - std::chrono::system_clock::now());
  }
  // `spare`: how long before its deadline it should begin.
  bool HasRoom(double spare = 0) const {
    return front().HasRoom(info(), seconds_left(spare));
  }
  std::list<Incoming*>::iterator held_at() const { return held_at_; }
  Clock::duration read_for() const { return Clock::now() - let_in_; }

 private:
  Front& front() const { return door_.front(); }

  // What gRPC tells of it; the last of these deletes it.
  void Arrived(bool ok) {
    if (!ok) return delete this;  // the server is shut down; no other comes
    came_ = Clock::now();
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
      door_.Forget(this, held_at_);
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
  Clock::time_point came_;
  Clock::time_point let_in_;
  Clock::time_point read_at_;
  Clock::duration held_for_{};
  std::list<Incoming*>::iterator held_at_;
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
  return queue()->AsyncNext(tag, ok,
                            std::chrono::system_clock::now() +
                                (held_count_ > 0 ? kLook : kLookAtReading));
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
    if (held_count_ > 0) TendHeld();
  }
}

std::list<Incoming*>::iterator Door::Watch(Incoming* call) {
  return reading_.insert(reading_.end(), call);
}

void Door::TendReading() {
  const double longest = kShareOfNew * front_.state_.options.max_queue_seconds;
  int left = front_.reading_;
  for (Incoming* const call : reading_) {
    if (call->read_for() <= kPatience) return;
    call->LeaveLane();
    if (left-- >= front_.most_ / 4 && !front_.HasRoom(call->info(), longest)) {
      call->GiveUp();
    }
  }
}

void Door::Arrive(Incoming* call) {
  Crowd& crowd = held_[call->method()];
  if (crowd.empty() && call->HasRoom()) return call->LetIn();
  // Who has no lane takes less than to be turned away.
  const std::optional<Lane> lane = call->info().info->habit.Usual();
  if (front_.state_.draining || front_.held_ >= front_.most_held_ ||
      (lane && !WillHaveRoom(*call) &&
       allowances_[static_cast<size_t>(*lane)].Take(Clock::now()))) {
    return call->Refuse(WaitOf(call->info(), crowd));
  }
  call->Hold(crowd.Add(call, front_.Pace(call->info())));
  CountHeld(1);
}

double Door::WaitOf(const UnaryMethod& method, const Crowd& crowd) const {
  return crowd.Wait(front_.Pace(method)) + front_.WaitInside(method);
}

bool Door::WillHaveRoom(const Incoming& call) const {
  return front_.MayWait(call.info()) &&
         WaitOf(call.info(), held_[call.method()]) <= call.seconds_left();
}

void Door::Forget(Incoming* call, std::list<Incoming*>::iterator held) {
  held_[call->method()].Forget(held);
  CountHeld(-1);
}

void Door::CountHeld(int change) {
  held_count_ += change;
  if ((front_.held_ += change) == 0) front_.held_.notify_all();
}

// Each time another method is the first to get what room there is.
void Door::TendHeld() {
  for (size_t n = 0; n < held_.size(); ++n) {
    TendHeld(held_[(next_tended_ + n) % held_.size()]);
  }
  next_tended_ = (next_tended_ + 1) % held_.size();
}

void Door::TendHeld(Crowd& crowd) {
  const std::chrono::duration<double> most(
      front_.state_.options.max_queue_seconds);
  while (!crowd.empty()) {
    Incoming* call = crowd.oldest();
    bool has_room = call->HasRoom(kBrinkSeconds);
    if (!has_room && crowd.newest()->HasRoom()) {
      call = crowd.newest();
      has_room = true;
    }
    if (has_room) {
      crowd.LetIn(call->held_at());
      CountHeld(-1);
      call->LetIn();
    } else if (front_.state_.draining || call->age() > most) {
      crowd.Forget(call->held_at());
      CountHeld(-1);
      call->Refuse(WaitOf(call->info(), crowd));
    } else {
      return;
    }
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
    doors_.push_back(
        std::make_unique<Door>(this, builder->AddCompletionQueue(), count));
  }
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
  if (!lane) return true;
  const ComputeGate& gate = state_.gate;
  const int before = ActiveIn(*lane);
  if (before >= gate.places(*lane)) return false;
  const double wait = gate.WaitBehind(*lane, before);
  if (wait == 0) return true;
  return wait <= seconds && (wait <= kReadAheadSeconds ||
                             before < kReadAheadCalls * state_.options.threads);
}

bool Front::MayWait(const UnaryMethod& method) const {
  const int most = state_.options.max_queued_calls;
  const bool is_long = method.info->habit.Usual() == Lane::kLong;
  const int waiting = held_ + std::max(0, active_ - state_.options.threads);
  return waiting < (is_long ? (most + 1) / 2 : most);
}

double Front::WaitInside(const UnaryMethod& method) const {
  const std::optional<Lane> lane = method.info->habit.Usual();
  return lane ? ActiveIn(*lane) * state_.gate.Pace(*lane) : 0;
}

double Front::Pace(const UnaryMethod& method) const {
  const std::optional<Lane> lane = method.info->habit.Usual();
  return lane ? state_.gate.Pace(*lane) : 0;
}

absl::Status Front::WhyNoRoom(const UnaryMethod& method, double wait,
                              double deadline_in) const {
  if (state_.draining) {
    return Shed(ShedReason::kDraining, "the server is shutting down");
  }
  if (deadline_in < wait && wait <= state_.options.max_queue_seconds) {
    return ComputeGate::TooLate(wait, Pace(method), deadline_in);
  }
  if (wait > 0) return ComputeGate::TooLong(wait);
  return Shed(ShedReason::kQueueFull,
              "the server is busy with as many calls as it takes; try again");
}

}  // namespace locus::server
