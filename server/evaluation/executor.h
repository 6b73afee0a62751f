// Where evaluations run: beside the short calls, and behind them.
//
// An evaluation computes for minutes on every thread it gets, and short calls
// must not notice. So it has threads of its own, none of the slots of
// ComputeGate, and the lowest priority there is: a thread of a short call that
// wakes up takes the processor from it at once (Linux's SCHED_IDLE, or nice 19
// where that is not allowed). The price is that a server that is busy with
// short calls hardly evaluates.
//
// It also leaves one processor alone, if there are several: on Linux 6.18 with
// two of them, one call in a hundred waited for the scheduler's next tick
// otherwise. `server_background_bench 5 real`, medians of the rounds' p99, in
// milliseconds:
//
//            idle    evaluating on both    on one
//   Encode   1.2     4.1                   0.9
//   Attend   1.6     4.9                   1.5
#pragma once

#include <mutex>

#include "absl/status/statusor.h"
#include "core/parallel/thread_pool.h"

namespace locus::server {

// Thread-safe.
class Background {
 public:
  // The right to run, until it dies. Must not outlive the background.
  class Slot {
   public:
    Slot(Slot&& other) noexcept : background_(other.background_) {
      other.background_ = nullptr;
    }
    Slot& operator=(Slot&&) = delete;
    ~Slot();

   private:
    friend class Background;
    explicit Slot(Background* background) : background_(background) {}
    Background* background_;
  };

  enum class Priority { kLowest, kUsual };

  // At the lowest priority one thread less runs, if there are several.
  Background(int threads, int max_running, Priority priority);

  // UNAVAILABLE if as many run as may; RESOURCE_EXHAUSTED (limit
  // `max_evaluations`) if none ever may.
  absl::StatusOr<Slot> Enter();

  int running() const;

  // Work on it counts the calling thread in, which therefore has to be one that
  // called AdoptThread.
  ThreadPool& pool() { return pool_; }
  // Gives the calling thread the priority of the others, for good.
  void AdoptThread() const;

 private:
  void Leave();

  const int max_running_;
  const Priority priority_;
  ThreadPool pool_;
  mutable std::mutex mutex_;
  int running_ = 0;
};

}  // namespace locus::server
