// Independent parts of one piece of work, spread over several servers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/client/retry.h"

namespace locus::client {

// Every server does one part at a time and takes the next when it is done, so
// that a fast one does more of them. A part whose server fails is the next one
// taken, by whichever server is free first. The server that failed is asked
// again after a while, as long as there is work, since it may come back; the
// work ends when all servers have failed `retry.max_attempts` times running, or
// when a part fails for good.
class Spread {
 public:
  // What became of one attempt.
  struct Attempt {
    absl::Status status;
    // Whether another server, or another time, might do better.
    bool may_retry = false;
    // What the server asked for.
    std::optional<absl::Duration> retry_after = std::nullopt;
  };

  // Both counts are at least 1.
  Spread(int server_count, int part_count, const RetryPolicy& retry);

  // Calls do_part(server, part), for each server on a thread of its own, until
  // all parts are done; returns when no call runs any more. Once.
  absl::Status Run(const std::function<Attempt(int server, int part)>& do_part);

  // Begins nothing more; Run returns `status` unless it has another error
  // already. Calls that run are the caller's to end; `on_stop` is where. From
  // any thread.
  void Stop(const absl::Status& status);
  // Called once, by whichever thread stops the work with an error.
  void OnStop(std::function<void()> on_stop) { on_stop_ = std::move(on_stop); }

 private:
  void Serve(int server,
             const std::function<Attempt(int server, int part)>& do_part);
  // Waits for one; none when there is nothing left to do.
  std::optional<int> Take();
  void Settle(int server, int part, const Attempt& attempt);
  // False if the work has ended meanwhile.
  bool Rest(int server, const Attempt& attempt);
  bool ended() const { return !status_.ok() || left_ == 0; }

  const RetryPolicy retry_;
  std::function<void()> on_stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> waiting_;
  // Neither done nor given up, waiting or under way.
  int left_;
  // In a row, by server.
  std::vector<int> failures_;
  absl::Status status_;
};

}  // namespace locus::client
