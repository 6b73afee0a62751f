#include "server/evaluation/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace locus::server {
namespace {

constexpr std::chrono::minutes kPatient(10);

TEST(BoundedQueueTest, KeepsTheOrder) {
  BoundedQueue<int> queue(10);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.Push(i, 1, kPatient));
  queue.Finish();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, WaitsForRoom) {
  BoundedQueue<int> queue(2);
  std::atomic<int> pushed = 0;
  std::thread maker([&] {
    for (int i = 0; i < 100; ++i) {
      queue.Push(i, 1, kPatient);
      ++pushed;
    }
    queue.Finish();
  });
  int taken = 0;
  while (queue.Pop().has_value()) {
    ++taken;
    EXPECT_LE(pushed, taken + 2);
  }
  EXPECT_EQ(taken, 100);
  maker.join();
}

TEST(BoundedQueueTest, TakesWhatIsHeavierThanItselfAlone) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.Push(1, 1000, kPatient));
  std::thread maker([&] { EXPECT_TRUE(queue.Push(2, 1000, kPatient)); });
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  maker.join();
}

TEST(BoundedQueueTest, ClosingFreesWhoWaits) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.Push(1, 1, kPatient));
  std::thread maker([&] { EXPECT_FALSE(queue.Push(2, 1, kPatient)); });
  queue.Close();
  maker.join();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.Push(3, 1, kPatient));
  queue.Finish();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, PatienceEnds) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.Push(1, 1, std::chrono::milliseconds(0)));
  EXPECT_FALSE(queue.Push(2, 1, std::chrono::milliseconds(1)));
  EXPECT_FALSE(queue.closed());
  // What was refused is not there.
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_TRUE(queue.Push(3, 1, std::chrono::milliseconds(0)));
  EXPECT_EQ(queue.Pop(), 3);
}

TEST(BoundedQueueTest, AwaitEndsWithAnItemWithTheEndOrInTime) {
  BoundedQueue<int> queue(10);
  EXPECT_FALSE(queue.Await(std::chrono::milliseconds(1)));
  ASSERT_TRUE(queue.Push(1, 1, std::chrono::milliseconds(0)));
  EXPECT_TRUE(queue.Await(std::chrono::hours(1)));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_FALSE(queue.Await(std::chrono::milliseconds(1)));
  queue.Finish();
  EXPECT_TRUE(queue.Await(std::chrono::hours(1)));
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

}  // namespace
}  // namespace locus::server
