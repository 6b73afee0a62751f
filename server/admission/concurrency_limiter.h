// Admission: who may compute, who waits, who is turned away.
//
// Calls are told apart by the time they are expected to take. Short ones and
// long ones wait in lanes of their own, each with a slot for every processor,
// so that a second of attention never holds up an encoding of fifty
// microseconds: the kernel's scheduler shares the processors between the two,
// and whoever just wakes up for a short while comes first.
//
// What takes less than to be turned away, a fifth of a millisecond or so, is
// simply done: it needs no slot.
//
// Nobody waits in vain. A call that cannot begin at once is turned away if its
// lane is full, by number or by time, or if its deadline would pass before it
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

namespace locus::server {

enum class Lane { kShort, kLong };
inline constexpr Lane kLanes[] = {Lane::kShort, Lane::kLong};
// "short" and "long".
absl::string_view NameOf(Lane lane);

// Where a call waits that is expected to take so long.
Lane LaneOf(double seconds);
// Whether it does not wait at all.
bool IsTrivial(double seconds);

// Which lane the calls of one method usually take. Thread-safe.
class LaneHabit {
 public:
  void Note(Lane lane);
  void Forget() { streak_.store(0, std::memory_order_relaxed); }
  // The lane of all of the last calls, or none if they took both.
  std::optional<Lane> Usual() const;

 private:
  // Calls in a row: so many short ones if negative, long ones if positive.
  std::atomic<int> streak_{0};
};

// Thread-safe.
class ComputeGate {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    // Calls of one lane that compute at once.
    int slots = 1;
    // Calls that wait; long ones take at most half of the places.
    int max_queued = 0;
    // How long the last call of a lane may be expected to wait.
    double max_wait_seconds = 2;
  };

  // A call that wants to compute.
  struct Applicant {
    double seconds = 0;  // expected
    Clock::time_point deadline = Clock::time_point::max();
    double waited = 0;  // seconds, elsewhere
  };

  // The right to compute, until it dies. Must not outlive the gate.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : gate_(other.gate_), lane_(other.lane_), seconds_(other.seconds_) {
      other.gate_ = nullptr;
    }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class ComputeGate;
    Slot(ComputeGate* gate, Lane lane, double seconds)
        : gate_(gate), lane_(lane), seconds_(seconds) {}
    ComputeGate* gate_;
    Lane lane_;
    double seconds_;
  };

  explicit ComputeGate(const Limits& limits) : limits_(limits) {}

  // Waits for a slot. UNAVAILABLE at once if there is no use in waiting, or
  // what `stop` says, which is asked ten times a second.
  absl::StatusOr<Slot> Enter(const Applicant& applicant, const StopCheck& stop);

  // How long a call would wait if so many others of its lane are before it, of
  // which not all need have come to the gate yet: as long as is expected of
  // those that have, or of calls of late.
  double WaitBehind(Lane lane, int calls) const;
  // Whether Enter would say no to it now.
  bool IsShut(Lane lane) const;
  // What such a call is told if that is too long, or too long for its deadline.
  static absl::Status TooLong(double wait);
  static absl::Status TooLate(double wait, double seconds, double deadline_in);

  // Seconds in which a call of that lane is done, by those of late.
  double Pace(Lane lane) const;
  // How many may compute or wait.
  int places(Lane lane) const;
  int queued(Lane lane) const;
  int computing(Lane lane) const;

 private:
  struct Waiter;
  struct Queue {
    // A call that computes or waits from now on.
    void Note(double seconds);

    int computing = 0;
    double computing_seconds = 0;  // of all that compute, expected
    std::list<Waiter*> waiters;
    double queued_seconds = 0;  // of all that wait, expected
    // Expected of a call, by those that came of late.
    double usual_seconds = 0;
  };

  Queue& At(Lane lane) { return queues_[static_cast<size_t>(lane)]; }
  const Queue& At(Lane lane) const {
    return queues_[static_cast<size_t>(lane)];
  }
  // These expect the lock to be held.
  double ExpectedWait(const Queue& queue) const;
  bool IsCrowded(Lane lane) const;
  // wait, waited: here, and elsewhere before.
  absl::Status CheckRoom(Lane lane, double wait, double waited) const;
  absl::Status CheckDeadline(const Applicant& applicant, double wait) const;

  void Leave(Lane lane, double seconds);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::array<Queue, std::size(kLanes)> queues_;
};

}  // namespace locus::server
