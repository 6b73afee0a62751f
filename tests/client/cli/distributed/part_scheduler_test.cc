#include "client/cli/distributed/part_scheduler.h"

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace locus::client {
namespace {

constexpr RetryPolicy kPolicy{.max_attempts = 3,
                              .initial_backoff = absl::Milliseconds(1),
                              .max_backoff = absl::Milliseconds(2)};

// The attempt of a server that cannot be reached.
PartScheduler::Attempt Unreachable() {
  return {.status = absl::UnavailableError("unreachable"), .may_retry = true};
}

// Records which server completed which part. Add() is thread-safe.
class Record {
 public:
  void Add(int server, int part) {
    const std::lock_guard lock(mutex_);
    done_.emplace_back(server, part);
  }
  std::multiset<int> parts() const {
    std::multiset<int> parts;
    for (const auto& [server, part] : done_) parts.insert(part);
    return parts;
  }
  std::set<int> servers() const {
    std::set<int> servers;
    for (const auto& [server, part] : done_) servers.insert(server);
    return servers;
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<int, int>> done_;
};

TEST(PartSchedulerTest, RunsEveryPartOnce) {
  Record record;
  PartScheduler scheduler(3, 10, kPolicy);
  EXPECT_TRUE(scheduler
                  .Run([&](int server, int part) {
                    record.Add(server, part);
                    return PartScheduler::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(PartSchedulerTest, ReassignsPartsOfAFailedServer) {
  Record record;
  PartScheduler scheduler(2, 8, kPolicy);
  EXPECT_TRUE(scheduler
                  .Run([&](int server, int part) {
                    if (server == 0) return Unreachable();
                    record.Add(server, part);
                    return PartScheduler::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(record.servers(), std::set<int>{1});
}

TEST(PartSchedulerTest, UsesAServerAgainAfterItRecovers) {
  Record record;
  std::atomic<int> failures{0};
  PartScheduler scheduler(1, 4, kPolicy);
  EXPECT_TRUE(scheduler
                  .Run([&](int server, int part) {
                    // Two failures before every success, never three in a row.
                    if (++failures % 3 != 0) return Unreachable();
                    record.Add(server, part);
                    return PartScheduler::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3}));
}

TEST(PartSchedulerTest, FailsIfNoServerIsReachable) {
  std::atomic<int> attempts{0};
  PartScheduler scheduler(2, 5, kPolicy);
  const absl::Status status = scheduler.Run([&](int, int) {
    ++attempts;
    return Unreachable();
  });
  EXPECT_EQ(status, absl::UnavailableError("unreachable"));
  EXPECT_GE(attempts, 6);
}

TEST(PartSchedulerTest, StopsAtAnErrorThatIsNotRetryable) {
  std::atomic<int> stops{0};
  std::atomic<int> attempts{0};
  PartScheduler scheduler(2, 1000, kPolicy);
  scheduler.OnStop([&] { ++stops; });
  const absl::Status status = scheduler.Run([&](int, int part) {
    ++attempts;
    if (part == 3) {
      return PartScheduler::Attempt{.status = absl::InvalidArgumentError("no")};
    }
    return PartScheduler::Attempt{};
  });
  EXPECT_EQ(status, absl::InvalidArgumentError("no"));
  EXPECT_EQ(stops, 1);
  EXPECT_LT(attempts, 1000);
}

TEST(PartSchedulerTest, StopInterruptsTheBackoff) {
  RetryPolicy long_backoff = kPolicy;
  long_backoff.initial_backoff = long_backoff.max_backoff = absl::Hours(1);
  PartScheduler scheduler(1, 1, long_backoff);
  std::thread stopping_thread;
  const absl::Status status = scheduler.Run([&](int, int) {
    stopping_thread =
        std::thread([&] { scheduler.Stop(absl::CancelledError("stopped")); });
    return Unreachable();
  });
  stopping_thread.join();
  EXPECT_EQ(status, absl::CancelledError("stopped"));
}

}  // namespace
}  // namespace locus::client
