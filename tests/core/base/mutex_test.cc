#include "core/base/mutex.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "absl/base/thread_annotations.h"

namespace locus {
namespace {

using std::chrono::steady_clock;

struct Shared {
  Mutex mutex;
  ConditionVariable changed;
  int count ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, ExcludesOtherThreads) {
  constexpr int kThreads = 4;
  constexpr int kIncrements = 20'000;
  Shared shared;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&shared] {
        for (int n = 0; n < kIncrements; ++n) {
          const MutexLock lock(&shared.mutex);
          ++shared.count;
        }
      });
    }
  }
  const MutexLock lock(&shared.mutex);
  EXPECT_EQ(shared.count, kThreads * kIncrements);
}

TEST(ConditionVariableTest, WaitEndsWhenTheConditionHolds) {
  Shared shared;
  // Two threads alternate, so that each must release the mutex while it waits
  // and hold it afterwards.
  constexpr int kTurns = 1'000;
  const auto take_turns = [&shared](int remainder) {
    for (int n = 0; n < kTurns; ++n) {
      const MutexLock lock(&shared.mutex);
      shared.changed.Wait(&shared.mutex,
                          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared.mutex) {
                            return shared.count % 2 == remainder;
                          });
      ++shared.count;
      shared.changed.NotifyOne();
    }
  };
  {
    const std::jthread even([&] { take_turns(0); });
    const std::jthread odd([&] { take_turns(1); });
  }
  const MutexLock lock(&shared.mutex);
  EXPECT_EQ(shared.count, 2 * kTurns);
}

TEST(ConditionVariableTest, WaitForReturnsFalseAfterTheTimeout) {
  constexpr std::chrono::milliseconds kTimeout(20);
  Shared shared;
  const steady_clock::time_point start = steady_clock::now();
  const MutexLock lock(&shared.mutex);
  EXPECT_FALSE(
      shared.changed.WaitFor(&shared.mutex, kTimeout, [] { return false; }));
  EXPECT_GE(steady_clock::now() - start, kTimeout);
}

TEST(ConditionVariableTest, WaitForReturnsTrueWhenTheConditionHolds) {
  Shared shared;
  const MutexLock lock(&shared.mutex);
  std::jthread notifier([&shared] {
    const MutexLock notifier_lock(&shared.mutex);
    shared.count = 1;
    shared.changed.NotifyAll();
  });
  EXPECT_TRUE(
      shared.changed.WaitFor(&shared.mutex, std::chrono::minutes(1),
                             [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(shared.mutex) {
                               return shared.count == 1;
                             }));
}

}  // namespace
}  // namespace locus
