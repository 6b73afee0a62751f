#include "server/admission/blocking_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace locus::server {
namespace {

// What tasks wait for until the test says so.
class Signal {
 public:
  void Give() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    changed_.notify_all();
  }
  void Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return given_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool given_ = false;
};

TEST(WorkersTest, EveryTaskIsDoneBeforeTheEnd) {
  std::atomic<int> done{0};
  {
    Workers workers({.threads = 3, .running = 2});
    for (int i = 0; i < 1000; ++i) workers.Run([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(WorkersTest, NoMoreRunThanMay) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  {
    Workers workers({.threads = 8, .running = 2});
    for (int i = 0; i < 200; ++i) {
      workers.Run([&] {
        const int now = ++running;
        int before = most;
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        --running;
      });
    }
  }
  EXPECT_LE(most, 2);
}

TEST(WorkersTest, WhoeverWaitsLeavesItsPlace) {
  Signal begun;
  Signal go_on;
  Signal other_done;
  Workers workers({.threads = 2, .running = 1});
  workers.Run([&] {
    const Workers::Wait wait;
    begun.Give();
    go_on.Await();
  });
  begun.Await();
  workers.Run([&] { other_done.Give(); });
  other_done.Await();  // would never come
  go_on.Give();
}

TEST(WorkersTest, TasksWaitForAThreadIfAllAreTaken) {
  Signal go_on;
  std::atomic<bool> done = false;
  {
    Workers workers({.threads = 1, .running = 4});
    workers.Run([&] { go_on.Await(); });
    workers.Run([&] { done = true; });
    EXPECT_FALSE(done);
    go_on.Give();
  }
  EXPECT_TRUE(done);
}

TEST(WorkersTest, OthersMaySayThatTheyWait) {
  const Workers::Wait wait;  // on a thread that is nobody's worker
}

}  // namespace
}  // namespace locus::server
