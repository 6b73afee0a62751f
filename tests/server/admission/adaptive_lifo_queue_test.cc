#include "server/admission/adaptive_lifo_queue.h"

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <vector>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

struct FakeCall {
  Clock::time_point arrival;
  Clock::time_point expiry;
  std::list<FakeCall*>::iterator place;
};

// Calls that arrive at kStart or later and may wait for a second. The target is
// half of it, the interval 100 ms.
class AdaptiveLifoQueueTest : public testing::Test {
 protected:
  FakeCall* Add(milliseconds arrival, milliseconds patience = kSecond) {
    calls_.push_back(std::make_unique<FakeCall>());
    FakeCall* const call = calls_.back().get();
    call->arrival = kStart + arrival;
    call->expiry = call->arrival + patience;
    queue_.Add(call);
    return call;
  }
  bool IsOverloadedAt(milliseconds time) {
    queue_.Update(kStart + time);
    return queue_.overloaded();
  }

  static constexpr milliseconds kSecond{1000};
  AdaptiveLifoQueue<FakeCall> queue_{0.5, 0.1};
  std::vector<std::unique_ptr<FakeCall>> calls_;
};

TEST_F(AdaptiveLifoQueueTest, IsFifoAtFirst) {
  FakeCall* const first = Add(milliseconds(0));
  FakeCall* const second = Add(milliseconds(1));
  EXPECT_EQ(queue_.Next(), first);
  queue_.Remove(first);
  EXPECT_EQ(queue_.Next(), second);
  EXPECT_EQ(queue_.size(), 1u);
  queue_.Remove(second);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(AdaptiveLifoQueueTest, BecomesLifoOnceTheDelayWasLongForTheInterval) {
  FakeCall* const first = Add(milliseconds(0));
  Add(milliseconds(1));
  FakeCall* const last = Add(milliseconds(2));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(499)));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(500)));  // the interval starts
  EXPECT_FALSE(IsOverloadedAt(milliseconds(599)));
  EXPECT_EQ(queue_.Next(), first);
  EXPECT_TRUE(IsOverloadedAt(milliseconds(600)));
  EXPECT_EQ(queue_.Next(), last);
  EXPECT_EQ(queue_.Oldest(), first);
}

TEST_F(AdaptiveLifoQueueTest, AnInterruptionStartsTheIntervalAgain) {
  FakeCall* const first = Add(milliseconds(0));
  Add(milliseconds(50));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(500)));
  queue_.Remove(first);
  EXPECT_FALSE(IsOverloadedAt(milliseconds(540)));  // below the target
  EXPECT_FALSE(IsOverloadedAt(milliseconds(550)));  // the interval starts
  EXPECT_FALSE(IsOverloadedAt(milliseconds(649)));
  EXPECT_TRUE(IsOverloadedAt(milliseconds(650)));
}

TEST_F(AdaptiveLifoQueueTest, BecomesFifoAgainAsSoonAsTheDelayIsShort) {
  FakeCall* const first = Add(milliseconds(0));
  FakeCall* const second = Add(milliseconds(400));
  Add(milliseconds(401));
  IsOverloadedAt(milliseconds(500));
  ASSERT_TRUE(IsOverloadedAt(milliseconds(600)));
  queue_.Remove(first);
  EXPECT_FALSE(IsOverloadedAt(milliseconds(600)));
  EXPECT_EQ(queue_.Next(), second);
}

TEST_F(AdaptiveLifoQueueTest, AnEmptyQueueIsNotOverloaded) {
  FakeCall* const first = Add(milliseconds(0));
  IsOverloadedAt(milliseconds(500));
  ASSERT_TRUE(IsOverloadedAt(milliseconds(600)));
  queue_.Remove(first);
  EXPECT_FALSE(IsOverloadedAt(milliseconds(600)));
  // The time above the target is forgotten as well.
  Add(milliseconds(100));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(600)));
}

TEST_F(AdaptiveLifoQueueTest, TheTargetIsAShareOfTheTimeThatACallMayWait) {
  Add(milliseconds(0), milliseconds(100));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(49)));
  EXPECT_FALSE(IsOverloadedAt(milliseconds(50)));
  EXPECT_TRUE(IsOverloadedAt(milliseconds(150)));
}

}  // namespace
}  // namespace locus::server
