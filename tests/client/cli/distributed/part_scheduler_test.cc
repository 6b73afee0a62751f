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

Spread::Attempt Lost() {
  return {.status = absl::UnavailableError("lost"), .may_retry = true};
}

// Which server did what, from any thread.
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

TEST(SpreadTest, EveryPartIsDoneOnce) {
  Record record;
  Spread spread(3, 10, kPolicy);
  EXPECT_TRUE(spread
                  .Run([&](int server, int part) {
                    record.Add(server, part);
                    return Spread::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(SpreadTest, PartsOfALostServerAreDoneByAnother) {
  Record record;
  Spread spread(2, 8, kPolicy);
  EXPECT_TRUE(spread
                  .Run([&](int server, int part) {
                    if (server == 0) return Lost();
                    record.Add(server, part);
                    return Spread::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(record.servers(), std::set<int>{1});
}

TEST(SpreadTest, AServerThatComesBackIsUsedAgain) {
  Record record;
  std::atomic<int> failures{0};
  Spread spread(1, 4, kPolicy);
  EXPECT_TRUE(spread
                  .Run([&](int server, int part) {
                    // Twice before every success: never three times running.
                    if (++failures % 3 != 0) return Lost();
                    record.Add(server, part);
                    return Spread::Attempt{};
                  })
                  .ok());
  EXPECT_EQ(record.parts(), (std::multiset<int>{0, 1, 2, 3}));
}

TEST(SpreadTest, WithoutAnyServerItEnds) {
  std::atomic<int> attempts{0};
  Spread spread(2, 5, kPolicy);
  const absl::Status status = spread.Run([&](int, int) {
    ++attempts;
    return Lost();
  });
  EXPECT_EQ(status, absl::UnavailableError("lost"));
  EXPECT_GE(attempts, 6);
}

TEST(SpreadTest, AnErrorThatIsFinalEndsItAll) {
  std::atomic<int> stops{0};
  std::atomic<int> attempts{0};
  Spread spread(2, 1000, kPolicy);
  spread.OnStop([&] { ++stops; });
  const absl::Status status = spread.Run([&](int, int part) {
    ++attempts;
    if (part == 3) {
      return Spread::Attempt{.status = absl::InvalidArgumentError("no")};
    }
    return Spread::Attempt{};
  });
  EXPECT_EQ(status, absl::InvalidArgumentError("no"));
  EXPECT_EQ(stops, 1);
  EXPECT_LT(attempts, 1000);
}

TEST(SpreadTest, StopEndsTheWaitForAServer) {
  RetryPolicy patient = kPolicy;
  patient.initial_backoff = patient.max_backoff = absl::Hours(1);
  Spread spread(1, 1, patient);
  std::thread stopper;
  const absl::Status status = spread.Run([&](int, int) {
    stopper = std::thread([&] { spread.Stop(absl::CancelledError("enough")); });
    return Lost();
  });
  stopper.join();
  EXPECT_EQ(status, absl::CancelledError("enough"));
}

}  // namespace
}  // namespace locus::client
