#include "server/admission/controller.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

// Calls that may be in transit even if none may wait.
constexpr int kMinReadCalls = 16;
// A deferred call takes up to 70 KiB, mostly message bytes that gRPC has
// already received (docs/adr/0002-defer-calls-before-reading.md).
constexpr int64_t kDeferredCallBytes = int64_t{70} << 10;
constexpr int kMinDeferredCapacity = 1000;
constexpr int kMaxDeferredCalls = 10'000;
// Messages are read ahead of the computing threads by this much time, or by
// this many calls per thread. All other calls wait unread, where they take no
// thread and less memory.
constexpr double kReadAheadSeconds = 0.05;
constexpr int kReadAheadCalls = 4;
constexpr absl::Duration kMinRejectionDelay = absl::Milliseconds(100);

}  // namespace

AdmissionController::AdmissionController(const Limits& limits,
                                         const ConcurrencyLimiter* limiter,
                                         const std::atomic<bool>* draining)
    : limits_(limits),
      limiter_(*limiter),
      draining_(*draining),
      max_active_(2 * limits.threads +
                  std::max(kMinReadCalls, limits.max_read_calls)),
      max_deferred_(static_cast<int>(std::clamp<int64_t>(
          limits.memory_budget_bytes / 8 / kDeferredCallBytes,
          kMinDeferredCapacity, kMaxDeferredCalls))) {}

// Calls that are still being read are not counted by the limiter yet, but will
// be. If they were not counted here, large messages would be read only to be
// rejected by the limiter.
bool AdmissionController::HasRoom(std::optional<CostClass> cost_class,
                                  double seconds) const {
  if (draining_ || active_ >= max_active_) return false;
  if (!cost_class) return seconds > 0;
  const int before = ActiveIn(*cost_class);
  if (before >= limiter_.capacity(*cost_class) ||
      limiter_.WouldReject(*cost_class)) {
    return false;
  }
  const double wait = limiter_.EstimateWait(*cost_class, before);
  if (wait == 0) return true;
  return wait <= seconds && (wait <= kReadAheadSeconds ||
                             before < kReadAheadCalls * limits_.threads);
}

bool AdmissionController::MayDefer(std::optional<CostClass> cost_class) const {
  const int capacity = limits_.max_queued_calls;
  const int computing = limits_.threads;
  // Long calls may take half of the queue.
  if (cost_class == CostClass::kLong &&
      deferred_in_class_[Index(CostClass::kLong)] +
              std::max(0, ActiveIn(CostClass::kLong) - computing) >=
          (capacity + 1) / 2) {
    return false;
  }
  return deferred_ + std::max(0, active_ - computing) < capacity;
}

double AdmissionController::EstimateWait(
    std::optional<CostClass> cost_class) const {
  return cost_class ? limiter_.EstimateWait(*cost_class, ActiveIn(*cost_class))
                    : 0;
}

double AdmissionController::EstimateInterval(
    std::optional<CostClass> cost_class) const {
  return cost_class ? limiter_.EstimateInterval(*cost_class) : 0;
}

absl::Status AdmissionController::RejectionOf(const Rejected& call,
                                              Clock::time_point now) const {
  if (draining_) {
    return Reject(RejectReason::kDraining, "the server is shutting down");
  }
  // No call is deferred for longer, so that there is room after this time.
  const double wait = std::min(call.estimated_wait, limits_.max_queue_seconds);
  if (!MayDefer(call.cost_class)) {
    return Reject(RejectReason::kQueueFull,
                  absl::StrCat("the server is busy and ", deferred_ + active_,
                               " calls are there already; try again"),
                  std::max(kMinRejectionDelay, absl::Seconds(wait / 2)));
  }
  if (call.timing.DeadlineAllows(wait, now) ||
      call.timing.AgeSeconds(now) > limits_.max_queue_seconds) {
    return ConcurrencyLimiter::TooLong(wait);
  }
  return ConcurrencyLimiter::TooLate(
      wait, EstimateInterval(call.cost_class) * limits_.threads,
      call.seconds_to_deadline);
}

void AdmissionController::OnDeferred(std::optional<CostClass> cost_class) {
  if (cost_class) ++deferred_in_class_[Index(*cost_class)];
  ++deferred_;
}

void AdmissionController::OnUndeferred(std::optional<CostClass> cost_class) {
  if (cost_class) --deferred_in_class_[Index(*cost_class)];
  if (--deferred_ == 0) Notify();
}

void AdmissionController::OnAdmitted(std::optional<CostClass> cost_class) {
  ++open_;
  ++active_;
  ++reading_;
  if (cost_class) ++active_in_class_[Index(*cost_class)];
}

void AdmissionController::OnClosed() {
  if (--open_ == 0) Notify();
}

void AdmissionController::Notify() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool AdmissionController::WaitForNoneDeferred(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return deferred_ == 0; });
}

void AdmissionController::WaitForIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return deferred_ == 0 && open_ == 0; });
}

}  // namespace locus::server
