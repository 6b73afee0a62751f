#include "server/admission/concurrency_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/rpc/status.h"

namespace locus::server {
namespace {

using Applicant = ComputeGate::Applicant;
using Clock = ComputeGate::Clock;

constexpr Applicant kTrivial{.seconds = 1e-5};
constexpr Applicant kShort{.seconds = 1e-3};
constexpr Applicant kLong{.seconds = 1};

void AwaitQueued(const ComputeGate& gate, Lane lane, int count) {
  while (gate.queued(lane) < count) std::this_thread::yield();
}

void ExpectShed(const absl::StatusOr<ComputeGate::Slot>& slot,
                ShedReason reason) {
  ASSERT_EQ(slot.status().code(), absl::StatusCode::kUnavailable);
  ASSERT_NE(ShedReasonOf(slot.status()), nullptr);
  EXPECT_EQ(*ShedReasonOf(slot.status()), reason) << slot.status();
}

// Calls that wait, each in a thread of its own, until they are called off.
class Crowd {
 public:
  explicit Crowd(ComputeGate* gate) : gate_(*gate) {}
  ~Crowd() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void Add(const Applicant& applicant) {
    const Lane lane = LaneOf(applicant.seconds);
    const int before = gate_.queued(lane);
    threads_.emplace_back([this, applicant] {
      const auto slot = gate_.Enter(applicant, [this] {
        return stop_ ? absl::CancelledError("gone") : absl::OkStatus();
      });
      EXPECT_EQ(slot.status().code(), absl::StatusCode::kCancelled);
    });
    AwaitQueued(gate_, lane, before + 1);
  }

 private:
  ComputeGate& gate_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(ComputeGateTest, ExpectsOfThoseToComeWhatCallsHaveTakenOfLate) {
  ComputeGate gate({.slots = 2, .max_queued = 8, .max_wait_seconds = 100});
  EXPECT_EQ(gate.WaitBehind(Lane::kLong, 10), 0);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(gate.Enter(kLong, {}).ok());
  // Who finds a slot free does not wait; of two that compute, half is done.
  EXPECT_EQ(gate.WaitBehind(Lane::kLong, 1), 0);
  EXPECT_NEAR(gate.WaitBehind(Lane::kLong, 2), 0.5, 1e-3);
  EXPECT_NEAR(gate.WaitBehind(Lane::kLong, 10), 4.5, 1e-3);
  EXPECT_EQ(gate.WaitBehind(Lane::kShort, 10), 0);
  EXPECT_NEAR(gate.Pace(Lane::kLong), 0.5, 1e-3);
  EXPECT_EQ(gate.Pace(Lane::kShort), 0);
}

TEST(ComputeGateTest, WhoIsTurnedAwayLeavesNoTraceInWhatIsUsual) {
  ComputeGate gate({.slots = 1, .max_queued = 8, .max_wait_seconds = 100});
  for (int i = 0; i < 200; ++i) {
    const Applicant hopeless{.seconds = 600, .deadline = Clock::now()};
    ExpectShed(gate.Enter(hopeless, {}), ShedReason::kDeadline);
  }
  EXPECT_EQ(gate.WaitBehind(Lane::kLong, 10), 0);
}

TEST(ComputeGateTest, WaitBehindIsNoLessThanTheQueue) {
  ComputeGate gate({.slots = 1, .max_queued = 8, .max_wait_seconds = 100});
  const auto slot = gate.Enter(kLong, {});
  ASSERT_TRUE(slot.ok());
  Crowd crowd(&gate);
  crowd.Add(kLong);
  EXPECT_NEAR(gate.WaitBehind(Lane::kLong, 0), 1.5, 1e-9);
}

TEST(ComputeGateTest, IsShutForWhoWouldBeTurnedAway) {
  ComputeGate full({.slots = 1, .max_queued = 0, .max_wait_seconds = 100});
  ComputeGate slow({.slots = 1, .max_queued = 8, .max_wait_seconds = 0.1});
  for (ComputeGate* const gate : {&full, &slow}) {
    EXPECT_FALSE(gate->IsShut(Lane::kLong));
    const auto slot = gate->Enter(kLong, {});
    EXPECT_TRUE(gate->IsShut(Lane::kLong));
    // The other lane is none of its business.
    EXPECT_FALSE(gate->IsShut(Lane::kShort));
  }
}

TEST(ComputeGateTest, WhatACallWaitedElsewhereCounts) {
  ComputeGate gate({.slots = 1, .max_queued = 8, .max_wait_seconds = 1});
  const auto slot = gate.Enter(kLong, {});
  ASSERT_TRUE(slot.ok());
  Applicant late = kLong;
  late.waited = 0.75;  // beside half of a second that it would wait here
  ExpectShed(gate.Enter(late, {}), ShedReason::kQueueFull);
  late.waited = 0.25;
  Crowd crowd(&gate);
  crowd.Add(late);
}

TEST(ComputeGateTest, WhoWouldWaitTooLongComesBackWhenHalfIsDone) {
  EXPECT_EQ(RetryDelayOf(ComputeGate::TooLong(1.5)), absl::Milliseconds(750));
}

TEST(ComputeGateTest, AdmitsAsManyAsThereAreSlots) {
  ComputeGate gate({.slots = 2});
  auto first = gate.Enter(kShort, {});
  auto second = gate.Enter(kShort, {});
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(gate.computing(Lane::kShort), 2);
  EXPECT_EQ(gate.computing(Lane::kLong), 0);
}

TEST(ComputeGateTest, RefusesBeyondTheQueue) {
  ComputeGate gate({.slots = 1, .max_queued = 0});
  const auto slot = gate.Enter(kShort, {});
  ExpectShed(gate.Enter(kShort, {}), ShedReason::kQueueFull);
}

TEST(ComputeGateTest, ShortCallsDoNotWaitForLongOnes) {
  ComputeGate gate({.slots = 1, .max_queued = 8});
  const auto slot = gate.Enter(kLong, {});
  Crowd crowd(&gate);
  crowd.Add(kLong);
  EXPECT_TRUE(gate.Enter(kShort, {}).ok());
}

TEST(ComputeGateTest, WhatTakesNothingNeedsNoSlot) {
  ComputeGate gate({.slots = 1, .max_queued = 0});
  const auto slot = gate.Enter(kShort, {});
  EXPECT_TRUE(gate.Enter(kTrivial, {}).ok());
  EXPECT_EQ(gate.computing(Lane::kShort), 1);
}

TEST(LaneHabitTest, IsWhatAllOfTheLastCallsDid) {
  LaneHabit habit;
  EXPECT_EQ(habit.Usual(), std::nullopt);
  for (int i = 0; i < 100; ++i) habit.Note(Lane::kLong);
  EXPECT_EQ(habit.Usual(), Lane::kLong);
  habit.Note(Lane::kShort);
  EXPECT_EQ(habit.Usual(), std::nullopt);
  for (int i = 0; i < 100; ++i) habit.Note(Lane::kShort);
  EXPECT_EQ(habit.Usual(), Lane::kShort);
  habit.Forget();
  EXPECT_EQ(habit.Usual(), std::nullopt);
}

TEST(ComputeGateTest, LongCallsLeaveRoomForShortOnes) {
  ComputeGate gate({.slots = 1, .max_queued = 4, .max_wait_seconds = 100});
  const auto long_slot = gate.Enter(kLong, {});
  const auto short_slot = gate.Enter(kShort, {});
  Crowd crowd(&gate);
  crowd.Add(kLong);
  crowd.Add(kLong);
  ExpectShed(gate.Enter(kLong, {}), ShedReason::kQueueFull);
  crowd.Add(kShort);
  crowd.Add(kShort);
  ExpectShed(gate.Enter(kShort, {}), ShedReason::kQueueFull);
}

TEST(ComputeGateTest, RefusesWhereTheWaitIsTooLong) {
  ComputeGate gate({.slots = 1, .max_queued = 100, .max_wait_seconds = 2});
  const auto slot = gate.Enter(kLong, {});  // half a second of it is left
  Crowd crowd(&gate);
  crowd.Add(kLong);
  crowd.Add(kLong);
  const auto refused = gate.Enter(kLong, {});
  ExpectShed(refused, ShedReason::kQueueFull);
  EXPECT_EQ(RetryDelayOf(refused.status()), absl::Milliseconds(1250));
  EXPECT_TRUE(gate.Enter(kShort, {}).ok());
}

TEST(ComputeGateTest, RefusesWhatCannotBeDoneInTime) {
  ComputeGate gate({.slots = 1, .max_queued = 100, .max_wait_seconds = 100});
  Applicant hurried = kLong;
  hurried.deadline = Clock::now() + std::chrono::milliseconds(700);
  // What it takes alone is not certain enough to refuse it.
  EXPECT_TRUE(gate.Enter(hurried, {}).ok());
  // A tenth of it is.
  Applicant hopeless = kLong;
  hopeless.deadline = Clock::now() + std::chrono::milliseconds(90);
  ExpectShed(gate.Enter(hopeless, {}), ShedReason::kDeadline);
  const auto slot = gate.Enter(kLong, {});
  ExpectShed(gate.Enter(hurried, {}), ShedReason::kDeadline);
  // The same with more time waits.
  Crowd crowd(&gate);
  crowd.Add({.seconds = 1, .deadline = Clock::now() + std::chrono::hours(1)});
}

TEST(ComputeGateTest, ServesInOrder) {
  ComputeGate gate({.slots = 1, .max_queued = 8});
  std::optional<ComputeGate::Slot> slot(*gate.Enter(kShort, {}));
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = gate.Enter(kShort, {});
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    AwaitQueued(gate, Lane::kShort, i + 1);
  }
  slot.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(gate.computing(Lane::kShort), 0);
}

TEST(ComputeGateTest, WaitingEndsWhenNobodyWantsTheResult) {
  ComputeGate gate({.slots = 1, .max_queued = 8});
  const auto slot = gate.Enter(kShort, {});
  { Crowd(&gate).Add(kShort); }
  EXPECT_EQ(gate.queued(Lane::kShort), 0);
  EXPECT_EQ(gate.computing(Lane::kShort), 1);
}

TEST(ComputeGateTest, NoSlotIsLostWhenStopsAndGrantsRace) {
  ComputeGate gate({.slots = 1, .max_queued = 100});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 300; ++n) {
        std::atomic<int> asked{0};
        (void)gate.Enter(kShort, [&] {
          return ++asked > 1 ? absl::CancelledError("") : absl::OkStatus();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.computing(Lane::kShort), 0);
  EXPECT_EQ(gate.queued(Lane::kShort), 0);
}

}  // namespace
}  // namespace locus::server
