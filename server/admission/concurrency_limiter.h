// A concurrency limiter: which calls compute, which wait for a slot, and which
// are rejected.
//
// Calls belong to one of two cost classes, by the time that they are expected
// to take. Each class has its own queue and a slot for every processor, so that
// a second of attention never delays an encoding of fifty microseconds: the
// kernel's scheduler shares the processors between the two classes and prefers
// threads that run for a short time. Calls that are cheaper than a rejection
// (about a fifth of a millisecond) need no slot.
//
// A call that cannot start at once is rejected if the queue of its class is
// full, by count or by estimated wait, or if its deadline would pass before it
// is done.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/parallel/cancellation.h"
#include "server/base/clock.h"

namespace locus::server {

enum class CostClass { kShort, kLong };
inline constexpr CostClass kCostClasses[] = {CostClass::kShort,
                                             CostClass::kLong};
// "short" and "long".
absl::string_view NameOf(CostClass cost_class);

// The class of a call that is expected to take `seconds`.
CostClass CostClassOf(double seconds);
// Whether such a call is too cheap to need a slot.
bool IsTrivial(double seconds);

// Predicts the cost class of the next call of one method from the last ones.
// Thread-safe.
class CostClassPredictor {
 public:
  void Record(CostClass cost_class);
  void Reset() { streak_.store(0, std::memory_order_relaxed); }
  // The class of the last 32 calls, or nullopt if they were of both classes.
  std::optional<CostClass> Predict() const;

 private:
  // The length of the current streak: negative for short calls, positive for
  // long ones.
  std::atomic<int> streak_{0};
};

// Thread-safe.
class ConcurrencyLimiter {
 public:
  struct Limits {
    // Calls of one class that compute at once.
    int slots = 1;
    // Calls that wait for a slot; long ones may take half of the queue.
    int max_queued = 0;
    // The longest wait that the last call of a class may be expected to have.
    double max_wait_seconds = 2;
    // How often a waiting call checks for cancellation. Hundreds of calls may
    // wait: waking them every few milliseconds would leave no time to compute.
    std::chrono::milliseconds poll_interval{100};
  };

  // A call that needs a slot.
  struct Request {
    double seconds = 0;  // expected compute time
    Clock::time_point deadline = Clock::time_point::max();
    double waited = 0;  // seconds that it has waited elsewhere
  };

  // The right to compute, released by the destructor. Must not outlive the
  // limiter.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : limiter_(other.limiter_),
          cost_class_(other.cost_class_),
          seconds_(other.seconds_) {
      other.limiter_ = nullptr;
    }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class ConcurrencyLimiter;
    Slot(ConcurrencyLimiter* limiter, CostClass cost_class, double seconds)
        : limiter_(limiter), cost_class_(cost_class), seconds_(seconds) {}
    ConcurrencyLimiter* limiter_;
    CostClass cost_class_;
    double seconds_;
  };

  explicit ConcurrencyLimiter(const Limits& limits) : limits_(limits) {}

  // Waits for a slot. Returns UNAVAILABLE at once if the wait would be futile,
  // or the status of `stop`, which is polled while the call waits.
  absl::StatusOr<Slot> Enter(const Request& request,
                             const CancellationCheck& stop);

  // The estimated wait of a call with `calls` others of its class before it,
  // some of which may not have reached the limiter yet.
  double EstimateWait(CostClass cost_class, int calls) const;
  // Whether Enter would reject a call of that class now.
  bool WouldReject(CostClass cost_class) const;
  // The rejection of a call whose wait would be too long in general, or too
  // long for its deadline.
  static absl::Status TooLong(double wait);
  static absl::Status TooLate(double wait, double seconds,
                              double seconds_to_deadline);

  // The estimated seconds between two calls of that class that finish.
  double EstimateInterval(CostClass cost_class) const;
  // Calls of that class that may compute or wait.
  int capacity(CostClass cost_class) const;
  int queued(CostClass cost_class) const;
  int computing(CostClass cost_class) const;

 private:
  struct Waiter;
  struct Queue {
    // Updates mean_seconds with a call that starts to compute or to wait.
    void Record(double seconds);

    int computing = 0;
    double computing_seconds = 0;  // total expected seconds of computing calls
    std::list<Waiter*> waiters;
    double queued_seconds = 0;  // total expected seconds of waiting calls
    double mean_seconds = 0;    // EWMA of the expected seconds of a call
  };

  Queue& At(CostClass cost_class) {
    return queues_[static_cast<size_t>(cost_class)];
  }
  const Queue& At(CostClass cost_class) const {
    return queues_[static_cast<size_t>(cost_class)];
  }
  // These require mutex_ to be held.
  double ExpectedWait(const Queue& queue) const;
  bool IsFull(CostClass cost_class) const;
  // `wait` is the expected wait here, `waited` the time waited elsewhere
  // before.
  absl::Status CheckRoom(CostClass cost_class, double wait,
                         double waited) const;
  absl::Status CheckDeadline(const Request& request, double wait) const;

  void Leave(CostClass cost_class, double seconds);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::array<Queue, std::size(kCostClasses)> queues_;  // guarded by mutex_
};

}  // namespace locus::server
