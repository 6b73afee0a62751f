#include "server/admission/blocking_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace locus::server {
namespace {

// Blocks tasks until the test lets them continue.
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

TEST(BlockingPoolTest, RunsEveryTaskBeforeItIsDestroyed) {
  std::atomic<int> done{0};
  {
    BlockingPool pool({.threads = 3, .running = 2});
    for (int i = 0; i < 1000; ++i) pool.Run([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(BlockingPoolTest, LimitsRunningTasks) {
  Signal go_on;
  {
    BlockingPool pool({.threads = 8, .running = 2});
    for (int i = 1; i <= 8; ++i) {
      pool.Run([&] { go_on.Await(); });
      EXPECT_EQ(pool.running(), std::min(i, 2));
    }
    go_on.Give();
  }
}

TEST(BlockingPoolTest, LimitsRunningTasksWhileTasksEnd) {
  std::atomic<int> running{0};
  std::atomic<int> max{0};
  {
    BlockingPool pool({.threads = 8, .running = 2});
    for (int i = 0; i < 200; ++i) {
      pool.Run([&] {
        const int now = ++running;
        int before = max;
        while (before < now && !max.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        --running;
      });
    }
  }
  EXPECT_LE(max, 2);
}

TEST(BlockingPoolTest, BlockedTaskLetsAnotherRun) {
  Signal begun;
  Signal go_on;
  Signal other_done;
  BlockingPool pool({.threads = 2, .running = 1});
  pool.Run([&] {
    const BlockingPool::Wait wait;
    begun.Give();
    go_on.Await();
  });
  begun.Await();
  pool.Run([&] { other_done.Give(); });
  other_done.Await();  // hangs if the blocked task still counts as running
  go_on.Give();
}

TEST(BlockingPoolTest, LimitsThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Signal go_on;
  {
    BlockingPool pool({.threads = 2, .running = 4});
    for (int i = 0; i < 8; ++i) {
      pool.Run([&] {
        {
          const std::lock_guard lock(mutex);
          threads.insert(std::this_thread::get_id());
        }
        go_on.Await();
      });
    }
    // Every task blocks, so a third thread would have been started for the
    // third task.
    EXPECT_EQ(pool.running(), 2);
    go_on.Give();
  }
  EXPECT_LE(threads.size(), 2u);
  EXPECT_GE(threads.size(), 1u);
}

TEST(BlockingPoolTest, WaitOnAForeignThreadChangesNoPool) {
  Signal begun;
  Signal go_on;
  std::atomic<bool> second_ran = false;
  {
    BlockingPool pool({.threads = 2, .running = 1});
    pool.Run([&] {
      begun.Give();
      go_on.Await();
    });
    begun.Await();
    {
      const BlockingPool::Wait wait;  // this thread belongs to no pool
      pool.Run([&] { second_ran = true; });
      EXPECT_EQ(pool.running(), 1);
    }
    EXPECT_EQ(pool.running(), 1);
    EXPECT_FALSE(second_ran);
    go_on.Give();
  }
  EXPECT_TRUE(second_ran);
}

}  // namespace
}  // namespace locus::server
