#include "client/cli/distributed/part_scheduler.h"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"

namespace locus::client {

PartScheduler::PartScheduler(int server_count, int part_count,
                             const RetryPolicy& retry)
    : server_count_(server_count),
      retry_(retry),
      remaining_(part_count),
      failures_(server_count, 0) {
  for (int part = 0; part < part_count; ++part) queue_.push_back(part);
}

absl::Status PartScheduler::Run(
    const std::function<Attempt(int server, int part)>& do_part) {
  {
    std::vector<std::jthread> threads;
    for (int server = 0; server < server_count_; ++server) {
      threads.emplace_back([&, server] { RunServer(server, do_part); });
    }
  }
  const MutexLock lock(&mutex_);
  return status_;
}

void PartScheduler::Stop(const absl::Status& status) {
  {
    const MutexLock lock(&mutex_);
    if (ended()) return;
    status_ = status;
  }
  changed_.NotifyAll();
  if (on_stop_) on_stop_();
}

void PartScheduler::RunServer(
    int server, const std::function<Attempt(int server, int part)>& do_part) {
  while (const std::optional<int> part = TakePart()) {
    const Attempt attempt = do_part(server, *part);
    RecordAttempt(server, *part, attempt);
    if (!attempt.status.ok() && !WaitForRetry(server, attempt)) return;
  }
}

std::optional<int> PartScheduler::TakePart() {
  const MutexLock lock(&mutex_);
  // The queue may be empty while parts run that can fail and be queued again.
  changed_.Wait(&mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ended() || !queue_.empty();
  });
  if (ended()) return std::nullopt;
  const int part = queue_.front();
  queue_.pop_front();
  return part;
}

void PartScheduler::RecordAttempt(int server, int part,
                                  const Attempt& attempt) {
  bool give_up = false;
  {
    const MutexLock lock(&mutex_);
    if (attempt.status.ok()) {
      failures_[server] = 0;
      --remaining_;
    } else {
      ++failures_[server];
      queue_.push_front(part);
      give_up = !attempt.may_retry || absl::c_all_of(failures_, [this](int n) {
        return n >= retry_.max_attempts;
      });
    }
  }
  changed_.NotifyAll();
  if (give_up) Stop(attempt.status);
}

bool PartScheduler::WaitForRetry(int server, const Attempt& attempt) {
  static thread_local std::minstd_rand random(std::random_device{}());
  const double uniform = std::uniform_real_distribution<double>(0, 1)(random);
  const MutexLock lock(&mutex_);
  const absl::Duration wait =
      RetryBackoff(retry_, failures_[server], attempt.retry_after, uniform);
  return !changed_.WaitFor(
      &mutex_, absl::ToChronoNanoseconds(wait),
      [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ended(); });
}

}  // namespace locus::client
