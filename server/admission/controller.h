// Admission control of unary calls: whether a call is admitted, deferred or
// rejected.
//
// A call is known before its message is read. If capacity is available, the
// call is admitted: its message is read and a worker handles it. Otherwise it
// is deferred: queued unread, in an AdaptiveLifoQueue, until capacity becomes
// available. A deferred call takes no thread and little memory, and the HTTP/2
// stream that it occupies limits what its connection can send. A call whose
// estimated wait is too long, by --max-queue-seconds or by its own deadline, is
// rejected on arrival.
//
// A rejection costs gRPC about a tenth of a millisecond on either side, and its
// caller is free to send the next call. At ten times its capacity, a server
// that rejects every excess call does nothing else. Early rejections are
// therefore limited by a token bucket; the remaining excess calls are deferred
// and rejected after --max-queue-seconds. See docs/overload.md for the
// measurements.
//
// The controller counts calls and takes the decisions that depend on the
// counts. It knows nothing of gRPC, threads or the clock. Thread-safe: all
// counts are atomic, and a decision may see counts that change meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "server/admission/call_timing.h"
#include "server/admission/concurrency_limiter.h"
#include "server/base/clock.h"

namespace locus::server {

class AdmissionController {
 public:
  struct Limits {
    // Threads that compute.
    int threads = 1;
    // Calls that may wait with their message read.
    int max_read_calls = 0;
    // --max-queued-calls and --max-queue-seconds.
    int max_queued_calls = 0;
    double max_queue_seconds = 2;
    // The memory budget of all calls, an eighth of which deferred calls may
    // occupy.
    int64_t memory_budget_bytes = 0;
  };

  // `limiter` and `draining` must outlive the controller. While `draining` is
  // true, every call is rejected.
  AdmissionController(const Limits& limits, const ConcurrencyLimiter* limiter,
                      const std::atomic<bool>* draining);

  const Limits& limits() const { return limits_; }
  bool draining() const { return draining_; }
  // Calls that may be admitted at once.
  int max_active() const { return max_active_; }

  // Whether a call that can wait for `seconds` would be admitted now. Calls
  // whose cost class is unknown are usually cheaper to serve than to reject.
  bool HasRoom(std::optional<CostClass> cost_class, double seconds) const;
  // Whether the queues have room for one more call of that class.
  bool MayDefer(std::optional<CostClass> cost_class) const;
  // Whether deferred calls take all the memory that they may.
  bool IsDeferredFull() const { return deferred_ >= max_deferred_; }
  // The estimated wait of an admitted call for a slot, and the estimated time
  // between two such calls. 0 if the class is unknown.
  double EstimateWait(std::optional<CostClass> cost_class) const;
  double EstimateInterval(std::optional<CostClass> cost_class) const;

  // A call to be rejected.
  struct Rejected {
    std::optional<CostClass> cost_class;
    CallTiming timing;
    double seconds_to_deadline = 0;
    double estimated_wait = 0;
  };
  // The status for it: the reason, and the time after which to retry.
  absl::Status RejectionOf(const Rejected& call, Clock::time_point now) const;

  // Whether to cancel a call whose message has been arriving for too long,
  // given the number of calls that are being read.
  bool ShouldCancelSlowRead(int reading) const {
    return reading >= max_active_ / 4 && active_ >= max_active_;
  }
  int reading() const { return reading_; }

  // The stages of a call. An admitted call is being read until OnRead, active
  // until OnHandled, and open until OnClosed.
  void OnDeferred(std::optional<CostClass> cost_class);
  void OnUndeferred(std::optional<CostClass> cost_class);
  void OnAdmitted(std::optional<CostClass> cost_class);
  void OnRead() { --reading_; }
  // The call no longer counts towards its class, though it may still be active.
  void OnLeftClass(CostClass cost_class) {
    --active_in_class_[Index(cost_class)];
  }
  void OnHandled() { --active_; }
  void OnClosed();

  int deferred() const { return deferred_; }
  // Waits until no call is deferred; false if the deadline passes first.
  bool WaitForNoneDeferred(Clock::time_point deadline);
  // Waits until no call is deferred or open.
  void WaitForIdle();

 private:
  static size_t Index(CostClass cost_class) {
    return static_cast<size_t>(cost_class);
  }
  int ActiveIn(CostClass cost_class) const {
    return active_in_class_[Index(cost_class)];
  }
  void Notify();

  const Limits limits_;
  const ConcurrencyLimiter& limiter_;
  const std::atomic<bool>& draining_;
  const int max_active_;
  const int max_deferred_;
  std::atomic<int> active_{0};   // admitted and not handled yet
  std::atomic<int> reading_{0};  // of the active calls
  std::atomic<int> open_{0};     // admitted, with completion events to come
  std::array<std::atomic<int>, std::size(kCostClasses)> active_in_class_{};
  std::atomic<int> deferred_{0};
  std::array<std::atomic<int>, std::size(kCostClasses)> deferred_in_class_{};
  // For the waits above.
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace locus::server
