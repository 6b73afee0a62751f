#include "server/evaluation/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace locus::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Longer than a test that passes ever takes.
constexpr seconds kLongTimeout(20);
constexpr milliseconds kNoWait(0);

// Waits until a thread is blocked in Push(); false if that takes too long.
bool AwaitBlockedPush(const BoundedQueue<int>& queue) {
  const auto deadline = std::chrono::steady_clock::now() + kLongTimeout / 2;
  while (queue.blocked_pushes() == 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(BoundedQueueTest, IsFifo) {
  BoundedQueue<int> queue(10);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.Push(i, 1, kNoWait));
  queue.Finish();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, PushBlocksUntilThereIsRoom) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1, 1, kNoWait));
  auto pushed = std::async(std::launch::async,
                           [&] { return queue.Push(2, 1, kLongTimeout); });
  ASSERT_TRUE(AwaitBlockedPush(queue));
  EXPECT_EQ(queue.Pop(), 1);
  ASSERT_EQ(pushed.wait_for(kLongTimeout / 2), std::future_status::ready);
  EXPECT_TRUE(pushed.get());
  EXPECT_EQ(queue.Pop(), 2);
}

TEST(BoundedQueueTest, NeverExceedsMaxWeight) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed = 0;
  std::thread producer([&] {
    for (int i = 0; i < 100; ++i) {
      queue.Push(i, 1, kLongTimeout);
      ++pushed;
    }
    queue.Finish();
  });
  int popped = 0;
  while (queue.Pop().has_value()) {
    ++popped;
    EXPECT_LE(pushed, popped + 2);
  }
  EXPECT_EQ(popped, 100);
  producer.join();
}

TEST(BoundedQueueTest, AcceptsOversizeItemOnlyWhenEmpty) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.Push(1, 1000, kNoWait));
  EXPECT_FALSE(queue.Push(2, 1000, kNoWait));
  EXPECT_EQ(queue.Pop(), 1);
  ASSERT_TRUE(queue.Push(2, 1000, kNoWait));
  EXPECT_EQ(queue.Pop(), 2);
}

TEST(BoundedQueueTest, CloseUnblocksPush) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1, 1, kNoWait));
  auto pushed = std::async(std::launch::async,
                           [&] { return queue.Push(2, 1, kLongTimeout); });
  ASSERT_TRUE(AwaitBlockedPush(queue));
  queue.Close();
  ASSERT_EQ(pushed.wait_for(kLongTimeout / 2), std::future_status::ready);
  EXPECT_FALSE(pushed.get());
}

TEST(BoundedQueueTest, CloseDiscardsItemsAndRejectsPushes) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.Push(1, 1, kNoWait));
  EXPECT_FALSE(queue.closed());
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.Push(2, 1, kLongTimeout));
  queue.Finish();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, PushTimesOut) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1, 1, kNoWait));
  EXPECT_FALSE(queue.Push(2, 1, milliseconds(1)));
  EXPECT_FALSE(queue.closed());
  // The rejected item is not in the queue.
  EXPECT_EQ(queue.Pop(), 1);
  ASSERT_TRUE(queue.Push(3, 1, kNoWait));
  EXPECT_EQ(queue.Pop(), 3);
}

TEST(BoundedQueueTest, AwaitReturnsWhetherPopWouldNotBlock) {
  BoundedQueue<int> queue(10);
  EXPECT_FALSE(queue.Await(milliseconds(1)));
  ASSERT_TRUE(queue.Push(1, 1, kNoWait));
  EXPECT_TRUE(queue.Await(kLongTimeout));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.Await(milliseconds(1)));
  queue.Finish();
  EXPECT_TRUE(queue.Await(kLongTimeout));
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

}  // namespace
}  // namespace locus::server
