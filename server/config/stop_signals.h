// SIGTERM and SIGINT, which stop the server.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "core/base/mutex.h"

namespace locus::server {

// Receives the stop signals on a thread of its own, from the start of the
// process to its end. The first signal asks the process to stop, and starts a
// time limit: if the process has not ended by then, whatever it does, the
// thread ends it with exit code 0. The second signal terminates the process at
// once. Thread-safe.
class StopSignals {
 public:
  struct Options {
    // Max time from a signal that arrives during the start to OnStarted().
    std::chrono::nanoseconds start_limit = std::chrono::seconds(2);
    // Called on the thread before it ends the process because of a time limit.
    std::function<void()> on_timeout;
  };

  // Blocks the signals on the calling thread and on all threads that it creates
  // later, so that only the thread of this object receives them. Call it before
  // there are other threads. RESOURCE_EXHAUSTED if the thread cannot be
  // created. The object lives until the process ends.
  static absl::StatusOr<StopSignals*> Install(Options options);

  // Ends the start. From now on, or from the first signal if it arrives later,
  // the process has `drain_limit` to end.
  void OnStarted(std::chrono::nanoseconds drain_limit)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_received() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the first signal and returns its number.
  int Await() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit StopSignals(Options options);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  [[noreturn]] void EndProcess() const;

  const Options options_;
  sigset_t signals_;
  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  std::optional<int> received_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::chrono::nanoseconds> drain_limit_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::server
