// Admission: who may compute, who waits, who is turned away.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>

#include "absl/status/statusor.h"
#include "core/base/cancellation.h"

namespace locus::server {

// At most `slots` calls compute at once; up to `max_queued` others wait in the
// order in which they came. Thread-safe.
class ComputeGate {
 public:
  // The right to compute, until it dies. Must not outlive the gate.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class ComputeGate;
    explicit Slot(ComputeGate* gate) : gate_(gate) {}
    ComputeGate* gate_;
  };

  ComputeGate(int slots, int max_queued);

  // Waits for a slot. UNAVAILABLE at once if the queue is full, or what `stop`
  // says, which is asked every few milliseconds.
  absl::StatusOr<Slot> Enter(const StopCheck& stop);

  int queued() const;
  int computing() const;

 private:
  struct Waiter;
  void Leave();

  const int slots_;
  const int max_queued_;
  mutable std::mutex mutex_;
  int computing_ = 0;
  std::list<Waiter*> waiters_;
};

}  // namespace locus::server
