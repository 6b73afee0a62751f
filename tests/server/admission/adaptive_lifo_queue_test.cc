#include "server/admission/adaptive_lifo_queue.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace locus::server {
namespace {

using std::chrono::milliseconds;

constexpr PaceClock::time_point kStart{std::chrono::hours(1)};

struct FakeCall {
  int number = 0;
  Crowd<FakeCall>::Place place;
};

class CrowdTest : public testing::Test {
 protected:
  // begin_by: from the start on.
  FakeCall* Add(milliseconds begin_by) {
    calls_.push_back(std::make_unique<FakeCall>());
    FakeCall* const call = calls_.back().get();
    call->number = static_cast<int>(calls_.size()) - 1;
    crowd_.Add(call, kStart + begin_by, 0.01, kStart);
    return call;
  }
  FakeCall* Next(milliseconds time) { return crowd_.Next(kStart + time); }
  // Lets in as many, one in every 10 ms; their numbers.
  std::vector<int> LetIn(int count, milliseconds first) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) {
      const milliseconds time = first + i * milliseconds(10);
      FakeCall* const call = Next(time);
      if (call == nullptr) break;
      numbers.push_back(call->number);
      crowd_.LetIn(call, kStart + time);
    }
    return numbers;
  }

  Crowd<FakeCall> crowd_;
  std::vector<std::unique_ptr<FakeCall>> calls_;
};

TEST_F(CrowdTest, NobodyIsNextOfNobody) {
  EXPECT_EQ(Next(milliseconds(0)), nullptr);
  EXPECT_TRUE(crowd_.empty());
}

TEST_F(CrowdTest, TheFirstToComeIsFirst) {
  for (int i = 0; i < 4; ++i) Add(milliseconds(1000));
  EXPECT_EQ(LetIn(5, milliseconds(0)), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(CrowdTest, AFewWithoutTimeMakeNobodyElseWait) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i % 20 == 0 ? 5 : 1000));
  EXPECT_EQ(LetIn(3, milliseconds(10)), (std::vector<int>{1, 2, 3}));
}

TEST_F(CrowdTest, WhereManyHaveNoTimeTheLastToComeIsFirst) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i < 5 ? 5 : 1000));
  EXPECT_EQ(LetIn(3, milliseconds(10)), (std::vector<int>{39, 38, 37}));
  EXPECT_EQ(crowd_.OldestIfNext(), nullptr);
}

TEST_F(CrowdTest, ThoseBehindTheFirstAreFoundLate) {
  for (int i = 0; i < 40; ++i) Add(milliseconds(i >= 20 && i < 30 ? 5 : 1000));
  EXPECT_EQ(LetIn(1, milliseconds(0)), (std::vector<int>{0}));
  EXPECT_EQ(LetIn(1, milliseconds(50)), (std::vector<int>{39}));
}

TEST_F(CrowdTest, WhoHasNoTimeIsLetInAfterAllOthers) {
  Add(milliseconds(5));
  Add(milliseconds(5));
  Add(milliseconds(1000));
  EXPECT_EQ(LetIn(4, milliseconds(10)), (std::vector<int>{2, 1, 0}));
}

TEST_F(CrowdTest, WhoLeavesIsNotNext) {
  FakeCall* const first = Add(milliseconds(5));
  FakeCall* const second = Add(milliseconds(1000));
  FakeCall* const third = Add(milliseconds(1000));
  EXPECT_EQ(Next(milliseconds(10)), third);
  crowd_.Remove(first);  // late
  crowd_.Remove(third);
  EXPECT_EQ(Next(milliseconds(20)), second);
  EXPECT_EQ(crowd_.OldestIfNext(), second);
  EXPECT_EQ(crowd_.size(), 1u);
  // Nor once its time would have come.
  EXPECT_EQ(Next(milliseconds(2000)), second);
  EXPECT_EQ(crowd_.size(), 1u);
}

TEST_F(CrowdTest, WhoWasLetInIsNotNextOnceItsTimeHasCome) {
  Add(milliseconds(1000));
  FakeCall* const second = Add(milliseconds(3000));
  EXPECT_EQ(LetIn(1, milliseconds(0)), (std::vector<int>{0}));
  EXPECT_EQ(Next(milliseconds(2000)), second);
  EXPECT_EQ(crowd_.OldestIfNext(), second);
}

TEST_F(CrowdTest, LateIsWhoWouldBeginAfterItsTimeNotAtIt) {
  FakeCall* const call = Add(milliseconds(10));
  EXPECT_EQ(Next(milliseconds(10)), call);
  EXPECT_EQ(crowd_.OldestIfNext(), call);
  EXPECT_EQ(Next(milliseconds(11)), call);
  EXPECT_EQ(crowd_.OldestIfNext(), nullptr);
}

TEST_F(CrowdTest, TheLateComeInTheOrderOfTheirTimeTheLastFirst) {
  for (const int begin_by : {30, 10, 20}) Add(milliseconds(begin_by));
  EXPECT_EQ(LetIn(4, milliseconds(40)), (std::vector<int>{0, 2, 1}));
}

TEST_F(CrowdTest, WhoIsToLeaveIsFoundAmongTheLateAndTheOthers) {
  FakeCall* const late = Add(milliseconds(5));
  FakeCall* const other = Add(milliseconds(1000));
  Next(milliseconds(10));
  const auto is = [](const FakeCall* wanted) {
    return [=](const FakeCall& call) { return &call == wanted; };
  };
  EXPECT_EQ(crowd_.NextToLeave(is(late)), late);
  EXPECT_EQ(crowd_.NextToLeave(is(other)), other);
  EXPECT_EQ(crowd_.NextToLeave(is(nullptr)), nullptr);
}

TEST_F(CrowdTest, WaitsAreThePaceOfThoseBefore) {
  EXPECT_EQ(crowd_.Wait(0.25, kStart), 0.25);
  for (int i = 0; i < 10; ++i) Add(milliseconds(100'000));
  EXPECT_NEAR(crowd_.Wait(0.25, kStart), 0.11, 1e-9);
  // Nobody has got in for half a second.
  EXPECT_NEAR(crowd_.Wait(0.25, kStart + milliseconds(500)), 0.6, 1e-9);
}

}  // namespace
}  // namespace locus::server
