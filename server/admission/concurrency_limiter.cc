#include "server/admission/concurrency_limiter.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/rpc/status.h"
#include "server/admission/blocking_pool.h"

namespace locus::server {
namespace {

// How soon a caller that went away gives up its place in the queue. Hundreds
// may wait: to wake them all every few milliseconds would leave no time to
// compute.
constexpr std::chrono::milliseconds kPollInterval(100);
// Calls of one lane in a row that make a habit.
constexpr int kHabit = 32;
// More than a scheduler's tick or two.
constexpr double kLongSeconds = 5e-3;
// What gRPC takes to refuse a call, or to answer one that computes nothing: two
// cores of a virtual machine did 6300 a second.
constexpr double kTrivialSeconds = 2e-4;
// How much of what is usual the last call makes up.
constexpr double kLastCallWeight = 1.0 / 16;
// Long enough for a queue to move.
constexpr absl::Duration kLeastDelay = absl::Milliseconds(5);

// When it is worth to come back to a queue of that length: half of it is done
// by then. Were all of it, we would have nothing to do until they are back.
absl::Duration RetryDelay(double wait) {
  return std::max(kLeastDelay, absl::Seconds(wait / 2));
}

std::string InMillis(double seconds) {
  return absl::StrFormat("%.0f ms", std::ceil(1e3 * seconds));
}

}  // namespace

absl::string_view NameOf(Lane lane) {
  return lane == Lane::kShort ? "short" : "long";
}

bool IsTrivial(double seconds) { return seconds < kTrivialSeconds; }

Lane LaneOf(double seconds) {
  return seconds < kLongSeconds ? Lane::kShort : Lane::kLong;
}

void LaneHabit::Note(Lane lane) {
  // Two at once may count as one, which is as good.
  const int before = streak_.load(std::memory_order_relaxed);
  const int now =
      lane == Lane::kLong ? std::max(before, 0) + 1 : std::min(before, 0) - 1;
  streak_.store(std::clamp(now, -kHabit, kHabit), std::memory_order_relaxed);
}

std::optional<Lane> LaneHabit::Usual() const {
  const int streak = streak_.load(std::memory_order_relaxed);
  if (streak >= kHabit) return Lane::kLong;
  if (streak <= -kHabit) return Lane::kShort;
  return std::nullopt;
}

struct ComputeGate::Waiter {
  double seconds;
  std::condition_variable ready;
  bool granted = false;
};

ComputeGate::Slot::~Slot() {
  if (gate_ != nullptr) gate_->Leave(lane_, seconds_);
}

void ComputeGate::Queue::Note(double seconds) {
  usual_seconds += kLastCallWeight * (seconds - usual_seconds);
}

// Of those that compute, about half is done.
double ComputeGate::ExpectedWait(const Queue& queue) const {
  return (queue.computing_seconds / 2 + queue.queued_seconds) / limits_.slots;
}

bool ComputeGate::IsCrowded(Lane lane) const {
  size_t queued = 0;
  for (const Queue& queue : queues_) queued += queue.waiters.size();
  return static_cast<int>(queued) >= limits_.max_queued ||
         static_cast<int>(At(lane).waiters.size()) >=
             places(lane) - limits_.slots;
}

absl::Status ComputeGate::CheckRoom(Lane lane, double wait,
                                    double waited) const {
  if (IsCrowded(lane)) {
    return Shed(ShedReason::kQueueFull,
                absl::StrCat("the server is busy and ", At(lane).waiters.size(),
                             " calls like this are waiting already; try again"),
                RetryDelay(wait));
  }
  return wait + waited > limits_.max_wait_seconds ? TooLong(wait)
                                                  : absl::OkStatus();
}

absl::Status ComputeGate::TooLong(double wait) {
  return Shed(ShedReason::kQueueFull,
              absl::StrCat("the server is busy and calls like this would wait "
                           "about ",
                           InMillis(wait), "; try again"),
              RetryDelay(wait));
}

// Expectations of the call itself may be far off until some have been seen: a
// tenth of it is certain enough, or half where it would have to wait as well.
absl::Status ComputeGate::CheckDeadline(const Applicant& applicant,
                                        double wait) const {
  if (applicant.deadline == Clock::time_point::max()) return absl::OkStatus();
  const double left =
      std::chrono::duration<double>(applicant.deadline - Clock::now()).count();
  const double least = wait + applicant.seconds / (wait > 0 ? 2 : 10);
  if (least <= left) return absl::OkStatus();
  return TooLate(wait, applicant.seconds, left);
}

absl::Status ComputeGate::TooLate(double wait, double seconds,
                                  double deadline_in) {
  return Shed(
      ShedReason::kDeadline,
      absl::StrCat("the call would wait about ", InMillis(wait), " and take ",
                   InMillis(seconds), "; its deadline is in ",
                   InMillis(std::max(deadline_in, 0.0)), "; allow more time"),
      RetryDelay(wait));
}

absl::StatusOr<ComputeGate::Slot> ComputeGate::Enter(const Applicant& applicant,
                                                     const StopCheck& stop) {
  const Lane lane = LaneOf(applicant.seconds);
  if (IsTrivial(applicant.seconds)) return Slot(nullptr, lane, 0);
  std::unique_lock lock(mutex_);
  Queue& queue = At(lane);
  if (queue.computing < limits_.slots) {
    LOCUS_RETURN_IF_ERROR(CheckDeadline(applicant, 0));
    queue.Note(applicant.seconds);
    ++queue.computing;
    queue.computing_seconds += applicant.seconds;
    return Slot(this, lane, applicant.seconds);
  }
  const double wait = ExpectedWait(queue);
  LOCUS_RETURN_IF_ERROR(CheckRoom(lane, wait, applicant.waited));
  LOCUS_RETURN_IF_ERROR(CheckDeadline(applicant, wait));
  queue.Note(applicant.seconds);
  const Workers::Wait waiting;
  Waiter self{.seconds = applicant.seconds};
  const auto place = queue.waiters.insert(queue.waiters.end(), &self);
  queue.queued_seconds += self.seconds;
  for (;;) {
    if (self.ready.wait_for(lock, kPollInterval,
                            [&] { return self.granted; })) {
      return Slot(this, lane, applicant.seconds);
    }
    // `stop` may ask the network; nobody has to wait for that.
    lock.unlock();
    const absl::Status status = stop ? stop() : absl::OkStatus();
    lock.lock();
    if (status.ok()) continue;
    if (self.granted) {
      lock.unlock();
      Leave(lane, applicant.seconds);
    } else {
      queue.waiters.erase(place);
      queue.queued_seconds -= self.seconds;
    }
    return status;
  }
}

void ComputeGate::Leave(Lane lane, double seconds) {
  const std::lock_guard lock(mutex_);
  Queue& queue = At(lane);
  queue.computing_seconds -= seconds;
  if (queue.waiters.empty()) {
    // Sums of what came and went drift; here they are known.
    if (--queue.computing == 0) queue.computing_seconds = 0;
    queue.queued_seconds = 0;
    return;
  }
  // The slot goes to the first in the queue without becoming free in between,
  // so that nobody overtakes. Notified under the lock: the waiter may be gone
  // right after.
  Waiter* next = queue.waiters.front();
  queue.waiters.pop_front();
  queue.queued_seconds -= next->seconds;
  queue.computing_seconds += next->seconds;
  next->granted = true;
  next->ready.notify_one();
}

double ComputeGate::WaitBehind(Lane lane, int calls) const {
  const std::lock_guard lock(mutex_);
  const Queue& queue = At(lane);
  const double of_all =
      calls < limits_.slots
          ? 0
          : (calls - limits_.slots / 2.0) * queue.usual_seconds / limits_.slots;
  if (queue.computing < limits_.slots) return of_all;
  return std::max(of_all, ExpectedWait(queue));
}

bool ComputeGate::IsShut(Lane lane) const {
  const std::lock_guard lock(mutex_);
  const Queue& queue = At(lane);
  return queue.computing >= limits_.slots &&
         (IsCrowded(lane) || ExpectedWait(queue) > limits_.max_wait_seconds);
}

double ComputeGate::Pace(Lane lane) const {
  const std::lock_guard lock(mutex_);
  return At(lane).usual_seconds / limits_.slots;
}

int ComputeGate::places(Lane lane) const {
  return limits_.slots + (lane == Lane::kLong ? (limits_.max_queued + 1) / 2
                                              : limits_.max_queued);
}

int ComputeGate::queued(Lane lane) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(At(lane).waiters.size());
}

int ComputeGate::computing(Lane lane) const {
  const std::lock_guard lock(mutex_);
  return At(lane).computing;
}

}  // namespace locus::server
