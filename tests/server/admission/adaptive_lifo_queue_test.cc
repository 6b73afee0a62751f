#include "server/admission/adaptive_lifo_queue.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

struct FakeCall {
  int number = 0;
  AdaptiveLifoQueue<FakeCall>::Place place;
};

class AdaptiveLifoQueueTest : public testing::Test {
 protected:
  // start_by: relative to kStart.
  FakeCall* Add(milliseconds start_by) {
    calls_.push_back(std::make_unique<FakeCall>());
    FakeCall* const call = calls_.back().get();
    call->number = static_cast<int>(calls_.size()) - 1;
    queue_.Add(call, kStart + start_by, 0.01, kStart);
    return call;
  }
  FakeCall* Next(milliseconds time) { return queue_.Next(kStart + time); }
  // Admits up to `count` calls, one every 10 ms, and returns their numbers.
  std::vector<int> Admit(int count, milliseconds first) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) {
      const milliseconds time = first + i * milliseconds(10);
      FakeCall* const call = Next(time);
      if (call == nullptr) break;
      numbers.push_back(call->number);
      queue_.Admit(call, kStart + time);
    }
    return numbers;
  }

  AdaptiveLifoQueue<FakeCall> queue_;
  std::vector<std::unique_ptr<FakeCall>> calls_;
};

TEST_F(AdaptiveLifoQueueTest, EmptyQueueHasNoNext) {
  EXPECT_EQ(Next(milliseconds(0)), nullptr);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(AdaptiveLifoQueueTest, IsFifoWhileCallsAreOnTime) {
  for (int i = 0; i < 4; ++i) Add(milliseconds(1000));
  EXPECT_EQ(Admit(5, milliseconds(0)), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(AdaptiveLifoQueueTest, StaysFifoIfFewCallsAreLate) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i % 20 == 0 ? 5 : 1000));
  EXPECT_EQ(Admit(3, milliseconds(10)), (std::vector<int>{1, 2, 3}));
}

TEST_F(AdaptiveLifoQueueTest, BecomesLifoIfATenthIsLate) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i < 5 ? 5 : 1000));
  EXPECT_EQ(Admit(3, milliseconds(10)), (std::vector<int>{39, 38, 37}));
  EXPECT_EQ(queue_.OldestIfNext(), nullptr);
}

TEST_F(AdaptiveLifoQueueTest, FindsLateCallsAnywhereInTheQueue) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i >= 20 && i < 30 ? 5 : 1000));
  EXPECT_EQ(Admit(1, milliseconds(0)), (std::vector<int>{0}));
  EXPECT_EQ(Admit(1, milliseconds(50)), (std::vector<int>{39}));
}

TEST_F(AdaptiveLifoQueueTest, AdmitsLateCallsLast) {
  Add(milliseconds(5));
  Add(milliseconds(5));
  Add(milliseconds(1000));
  EXPECT_EQ(Admit(4, milliseconds(10)), (std::vector<int>{2, 1, 0}));
}

TEST_F(AdaptiveLifoQueueTest, RemovedCallIsNotNext) {
  FakeCall* const first = Add(milliseconds(5));
  FakeCall* const second = Add(milliseconds(1000));
  FakeCall* const third = Add(milliseconds(1000));
  EXPECT_EQ(Next(milliseconds(10)), third);
  queue_.Remove(first);  // late
  queue_.Remove(third);
  EXPECT_EQ(Next(milliseconds(20)), second);
  EXPECT_EQ(queue_.OldestIfNext(), second);
  EXPECT_EQ(queue_.size(), 1u);
  // Its start deadline is gone as well.
  EXPECT_EQ(Next(milliseconds(2000)), second);
  EXPECT_EQ(queue_.size(), 1u);
}

TEST_F(AdaptiveLifoQueueTest, AdmittedCallDoesNotBecomeLate) {
  Add(milliseconds(1000));
  FakeCall* const second = Add(milliseconds(3000));
  EXPECT_EQ(Admit(1, milliseconds(0)), (std::vector<int>{0}));
  EXPECT_EQ(Next(milliseconds(2000)), second);
  EXPECT_EQ(queue_.OldestIfNext(), second);
}

TEST_F(AdaptiveLifoQueueTest, CallThatStartsExactlyInTimeIsNotLate) {
  FakeCall* const call = Add(milliseconds(10));
  EXPECT_EQ(Next(milliseconds(10)), call);
  EXPECT_EQ(queue_.OldestIfNext(), call);
  EXPECT_EQ(Next(milliseconds(11)), call);
  EXPECT_EQ(queue_.OldestIfNext(), nullptr);
}

TEST_F(AdaptiveLifoQueueTest, AdmitsLateCallsByStartDeadlineLatestFirst) {
  for (const int start_by : {30, 10, 20}) Add(milliseconds(start_by));
  EXPECT_EQ(Admit(4, milliseconds(40)), (std::vector<int>{0, 2, 1}));
}

TEST_F(AdaptiveLifoQueueTest, FindsExpiredCallsInBothLists) {
  FakeCall* const late = Add(milliseconds(5));
  FakeCall* const other = Add(milliseconds(1000));
  Next(milliseconds(10));
  const auto is = [](const FakeCall* wanted) {
    return [=](const FakeCall& call) { return &call == wanted; };
  };
  EXPECT_EQ(queue_.FindExpired(is(late)), late);
  EXPECT_EQ(queue_.FindExpired(is(other)), other);
  EXPECT_EQ(queue_.FindExpired(is(nullptr)), nullptr);
}

TEST_F(AdaptiveLifoQueueTest, EstimatesTheWaitFromTheAdmissionInterval) {
  EXPECT_EQ(queue_.EstimateWait(0.25, kStart), 0.25);
  for (int i = 0; i < 10; ++i) Add(milliseconds(100'000));
  EXPECT_NEAR(queue_.EstimateWait(0.25, kStart), 0.11, 1e-9);
  // No call has been admitted for half a second.
  EXPECT_NEAR(queue_.EstimateWait(0.25, kStart + milliseconds(500)), 0.6, 1e-9);
}

}  // namespace
}  // namespace locus::server
