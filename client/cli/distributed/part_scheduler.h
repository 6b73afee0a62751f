// Distribution of independent parts of one piece of work over several servers.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"
#include "locus/client/retry.h"

namespace locus::client {

// Work queue for several servers. Every server runs one part at a time and
// takes the next when it is done, so that faster servers run more parts. If a
// server fails, its part goes back to the front of the queue, and the server is
// used again after a backoff. The work ends with an error when all servers have
// failed `retry.max_attempts` times in a row, or when a part fails with an
// error that is not retryable.
class PartScheduler {
 public:
  // The outcome of one attempt to run a part.
  struct Attempt {
    absl::Status status;
    // Whether another attempt may succeed, on this server or another one.
    bool may_retry = false;
    // The retry delay that the server requested, if any.
    std::optional<absl::Duration> retry_after = std::nullopt;
  };

  // Both counts must be at least 1.
  PartScheduler(int server_count, int part_count, const RetryPolicy& retry);

  // Calls do_part(server, part) on one thread per server until all parts are
  // done. Returns when no call is active any more. Call once.
  absl::Status Run(const std::function<Attempt(int server, int part)>& do_part)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Starts no further parts and makes Run() return `status`, unless it has
  // failed with another error before. Does not cancel active calls; use
  // OnStop() for that. Thread-safe.
  void Stop(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets a function that is called once, on the thread that stops the work with
  // an error. Call before Run().
  void OnStop(std::function<void()> on_stop) { on_stop_ = std::move(on_stop); }

 private:
  // The loop of one server's thread.
  void RunServer(int server,
                 const std::function<Attempt(int server, int part)>& do_part)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the next part; returns nullopt once the work has ended.
  std::optional<int> TakePart() ABSL_LOCKS_EXCLUDED(mutex_);
  void RecordAttempt(int server, int part, const Attempt& attempt)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the backoff of a server. Returns false if the work ended
  // meanwhile.
  bool WaitForRetry(int server, const Attempt& attempt)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !status_.ok() || remaining_ == 0;
  }

  const int server_count_;
  const RetryPolicy retry_;
  std::function<void()> on_stop_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<int> queue_ ABSL_GUARDED_BY(mutex_);
  // Number of parts that are queued or running.
  int remaining_ ABSL_GUARDED_BY(mutex_);
  // Consecutive failures of each server.
  std::vector<int> failures_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::client
