#include "server/admission/concurrency_limiter.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/status.h"
#include "server/admission/blocking_pool.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

// Calls of one class in a row from which the class of the next is predicted.
constexpr int kPredictionStreak = 32;
// A long call takes more than one or two ticks of the scheduler.
constexpr double kLongSeconds = 5e-3;
// Calls below this expected time need no slot. It is about the time that gRPC
// takes to reject a call, or to answer one that computes nothing; see
// docs/overload.md.
constexpr double kTrivialSeconds = 2e-4;
// The weight of the last call in the EWMA of compute times.
constexpr double kLastCallWeight = 1.0 / 16;
constexpr absl::Duration kMinQueueRetryDelay = absl::Milliseconds(5);

// The time in which half of a queue is done. If clients waited until all of it
// is done, the server would idle until they return.
absl::Duration RetryDelay(double wait) {
  return std::max(kMinQueueRetryDelay, absl::Seconds(wait / 2));
}

std::string InMillis(double seconds) {
  return absl::StrFormat("%.0f ms", std::ceil(1e3 * seconds));
}

}  // namespace

absl::string_view NameOf(CostClass cost_class) {
  return cost_class == CostClass::kShort ? "short" : "long";
}

bool IsTrivial(double seconds) { return seconds < kTrivialSeconds; }

CostClass CostClassOf(double seconds) {
  return seconds < kLongSeconds ? CostClass::kShort : CostClass::kLong;
}

void CostClassPredictor::Record(CostClass cost_class) {
  // Two concurrent calls may count as one, which is good enough.
  const int before = streak_.load(std::memory_order_relaxed);
  const int now = cost_class == CostClass::kLong ? std::max(before, 0) + 1
                                                 : std::min(before, 0) - 1;
  streak_.store(std::clamp(now, -kPredictionStreak, kPredictionStreak),
                std::memory_order_relaxed);
}

std::optional<CostClass> CostClassPredictor::Predict() const {
  const int streak = streak_.load(std::memory_order_relaxed);
  if (streak >= kPredictionStreak) return CostClass::kLong;
  if (streak <= -kPredictionStreak) return CostClass::kShort;
  return std::nullopt;
}

struct ConcurrencyLimiter::Waiter {
  double seconds;
  std::condition_variable ready;
  bool granted = false;
};

ConcurrencyLimiter::Slot::~Slot() {
  if (limiter_ != nullptr) limiter_->Leave(cost_class_, seconds_);
}

void ConcurrencyLimiter::Queue::Record(double seconds) {
  mean_seconds += kLastCallWeight * (seconds - mean_seconds);
}

// Assumes that the computing calls are half done on average.
double ConcurrencyLimiter::ExpectedWait(const Queue& queue) const {
  return (queue.computing_seconds / 2 + queue.queued_seconds) / limits_.slots;
}

bool ConcurrencyLimiter::IsFull(CostClass cost_class) const {
  size_t queued = 0;
  for (const Queue& queue : queues_) queued += queue.waiters.size();
  return static_cast<int>(queued) >= limits_.max_queued ||
         static_cast<int>(At(cost_class).waiters.size()) >=
             capacity(cost_class) - limits_.slots;
}

absl::Status ConcurrencyLimiter::CheckRoom(CostClass cost_class, double wait,
                                           double waited) const {
  if (IsFull(cost_class)) {
    return Reject(
        RejectReason::kQueueFull,
        absl::StrCat("the server is busy and ", At(cost_class).waiters.size(),
                     " calls like this are waiting already; try again"),
        RetryDelay(wait));
  }
  return wait + waited > limits_.max_wait_seconds ? TooLong(wait)
                                                  : absl::OkStatus();
}

absl::Status ConcurrencyLimiter::TooLong(double wait) {
  return Reject(
      RejectReason::kQueueFull,
      absl::StrCat("the server is busy and calls like this would wait "
                   "about ",
                   InMillis(wait), "; try again"),
      RetryDelay(wait));
}

// The expected compute time may be far off until some calls have been measured,
// so that only a tenth of it counts, or half if the call has to wait as well.
absl::Status ConcurrencyLimiter::CheckDeadline(const Request& request,
                                               double wait) const {
  if (request.deadline == Clock::time_point::max()) return absl::OkStatus();
  const double left = SecondsBetween(Clock::now(), request.deadline);
  const double min_seconds = wait + request.seconds / (wait > 0 ? 2 : 10);
  if (min_seconds <= left) return absl::OkStatus();
  return TooLate(wait, request.seconds, left);
}

absl::Status ConcurrencyLimiter::TooLate(double wait, double seconds,
                                         double seconds_to_deadline) {
  return Reject(
      RejectReason::kDeadline,
      absl::StrCat("the call would wait about ", InMillis(wait), " and take ",
                   InMillis(seconds), "; its deadline is in ",
                   InMillis(std::max(seconds_to_deadline, 0.0)),
                   "; allow more time"),
      RetryDelay(wait));
}

absl::StatusOr<ConcurrencyLimiter::Slot> ConcurrencyLimiter::Enter(
    const Request& request, const CancellationCheck& stop) {
  const CostClass cost_class = CostClassOf(request.seconds);
  if (IsTrivial(request.seconds)) return Slot(nullptr, cost_class, 0);
  std::unique_lock lock(mutex_);
  Queue& queue = At(cost_class);
  if (queue.computing < limits_.slots) {
    LOCUS_RETURN_IF_ERROR(CheckDeadline(request, 0));
    queue.Record(request.seconds);
    ++queue.computing;
    queue.computing_seconds += request.seconds;
    return Slot(this, cost_class, request.seconds);
  }
  const double wait = ExpectedWait(queue);
  LOCUS_RETURN_IF_ERROR(CheckRoom(cost_class, wait, request.waited));
  LOCUS_RETURN_IF_ERROR(CheckDeadline(request, wait));
  queue.Record(request.seconds);
  const BlockingPool::Wait waiting;
  Waiter self{.seconds = request.seconds};
  const auto place = queue.waiters.insert(queue.waiters.end(), &self);
  queue.queued_seconds += self.seconds;
  for (;;) {
    if (self.ready.wait_for(lock, limits_.poll_interval,
                            [&] { return self.granted; })) {
      return Slot(this, cost_class, request.seconds);
    }
    // `stop` may poll the network, so the lock is released meanwhile.
    lock.unlock();
    const absl::Status status = stop ? stop() : absl::OkStatus();
    lock.lock();
    if (status.ok()) continue;
    if (self.granted) {
      lock.unlock();
      Leave(cost_class, request.seconds);
    } else {
      queue.waiters.erase(place);
      queue.queued_seconds -= self.seconds;
    }
    return status;
  }
}

void ConcurrencyLimiter::Leave(CostClass cost_class, double seconds) {
  const std::lock_guard lock(mutex_);
  Queue& queue = At(cost_class);
  queue.computing_seconds -= seconds;
  if (queue.waiters.empty()) {
    // Floating-point sums drift; here their exact values are known.
    if (--queue.computing == 0) queue.computing_seconds = 0;
    queue.queued_seconds = 0;
    return;
  }
  // The slot passes to the first waiter without becoming free in between, so
  // that no other call can take it. The notification happens under the lock
  // because the waiter may be destroyed right after.
  Waiter* next = queue.waiters.front();
  queue.waiters.pop_front();
  queue.queued_seconds -= next->seconds;
  queue.computing_seconds += next->seconds;
  next->granted = true;
  next->ready.notify_one();
}

double ConcurrencyLimiter::EstimateWait(CostClass cost_class, int calls) const {
  const std::lock_guard lock(mutex_);
  const Queue& queue = At(cost_class);
  const double by_count =
      calls < limits_.slots
          ? 0
          : (calls - limits_.slots / 2.0) * queue.mean_seconds / limits_.slots;
  if (queue.computing < limits_.slots) return by_count;
  return std::max(by_count, ExpectedWait(queue));
}

bool ConcurrencyLimiter::WouldReject(CostClass cost_class) const {
  const std::lock_guard lock(mutex_);
  const Queue& queue = At(cost_class);
  return queue.computing >= limits_.slots &&
         (IsFull(cost_class) || ExpectedWait(queue) > limits_.max_wait_seconds);
}

double ConcurrencyLimiter::EstimateInterval(CostClass cost_class) const {
  const std::lock_guard lock(mutex_);
  return At(cost_class).mean_seconds / limits_.slots;
}

int ConcurrencyLimiter::capacity(CostClass cost_class) const {
  return limits_.slots + (cost_class == CostClass::kLong
                              ? (limits_.max_queued + 1) / 2
                              : limits_.max_queued);
}

int ConcurrencyLimiter::queued(CostClass cost_class) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(At(cost_class).waiters.size());
}

int ConcurrencyLimiter::computing(CostClass cost_class) const {
  const std::lock_guard lock(mutex_);
  return At(cost_class).computing;
}

}  // namespace locus::server
