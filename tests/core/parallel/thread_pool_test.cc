#include "core/parallel/thread_pool.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/thread_limit.h"

namespace locus {
namespace {

TEST(ThreadPoolTest, RunsEachItemOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    std::vector<std::atomic<int>> runs(1000);
    pool.ParallelFor(1000, [&](int64_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
    pool.ParallelFor(0, [](int64_t) { FAIL(); });
  }
}

TEST(ThreadPoolTest, SeveralThreadsMayCallAtOnce) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool.ParallelFor(17, [&](int64_t i) { sum += i; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, int64_t{4} * 200 * 136);
}

TEST(ThreadPoolTest, RethrowsExceptionsOnTheCallingThread) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.ParallelFor(100,
                                  [](int64_t i) {
                                    if (i == 7) throw std::bad_alloc();
                                  }),
                 std::bad_alloc);
    // The pool remains usable.
    std::atomic<int> runs = 0;
    pool.ParallelFor(10, [&](int64_t) { ++runs; });
    EXPECT_EQ(runs, 10);
  }
}

TEST(ThreadPoolTest, EachWorkerCallsOnStart) {
  std::atomic<int> started = 0;
  {
    const ThreadPool pool(3, [&] { ++started; });
  }
  EXPECT_EQ(started, 2);
}

TEST(ThreadPoolTest, CallsMayBeNested) {
  ThreadPool pool(3);
  std::atomic<int> count = 0;
  pool.ParallelFor(
      8, [&](int64_t) { pool.ParallelFor(8, [&](int64_t) { ++count; }); });
  EXPECT_EQ(count, 64);
}

TEST(ThreadPoolTest, ThrowsIfAThreadCannotBeCreated) {
  if (!kCanLimitThreads) GTEST_SKIP() << "sanitizers need address space";
  EXPECT_EXIT(
      {
        LimitThreads(4);
        try {
          const ThreadPool pool(100);
        } catch (const std::system_error&) {
          _exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace locus
