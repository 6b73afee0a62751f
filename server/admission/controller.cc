#include "server/admission/controller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/rpc/poller.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

// Calls that may be on their way even if none may wait.
constexpr int kOnTheWay = 16;
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
// Who is one too many should come back a little later.
constexpr absl::Duration kLeastDelay = absl::Milliseconds(100);

}  // namespace

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
    if (oldest < came - 2 * Door::kLook) return true;
  }
  return false;
}

absl::Status Front::WhyNoRoom(const Incoming& call, double wait) const {
  if (state_.draining) {
    return Shed(ShedReason::kDraining, "the server is shutting down");
  }
  // Nobody is held for longer, so that then there is room.
  wait = std::min(wait, state_.options.max_queue_seconds);
  if (!MayWait(call.info())) {
    return Shed(ShedReason::kQueueFull,
                absl::StrCat("the server is busy and ", held_ + active_,
                             " calls are there already; try again"),
                std::max(kLeastDelay, absl::Seconds(wait / 2)));
  }
  if (call.DeadlineAllows(wait) || call.HasWaitedLongEnough()) {
    return ComputeGate::TooLong(wait);
  }
  const std::optional<Lane> lane = call.info().info->habit.Usual();
  return ComputeGate::TooLate(
      wait, lane ? state_.gate.Pace(*lane) * state_.options.threads : 0,
      call.deadline_in());
}

}  // namespace locus::server
