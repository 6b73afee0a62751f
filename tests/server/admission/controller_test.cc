#include "server/admission/controller.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "server/admission/rejection.h"

namespace locus::server {
namespace {

constexpr Clock::time_point kNow{std::chrono::hours(1)};

class AdmissionControllerTest : public testing::Test {
 protected:
  AdmissionController Make(int max_queued_calls = 8) {
    return AdmissionController({.threads = 1,
                                .max_read_calls = 4,
                                .max_queued_calls = max_queued_calls,
                                .max_queue_seconds = 2,
                                .memory_budget_bytes = int64_t{1} << 30},
                               &limiter_, &draining_);
  }
  // Teaches the limiter that long calls take a second.
  void LearnLongCalls() {
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(limiter_.Enter({.seconds = 1}, {}).ok());
    }
  }

  std::atomic<bool> draining_{false};
  ConcurrencyLimiter limiter_{
      {.slots = 1, .max_queued = 8, .max_wait_seconds = 2}};
};

RejectReason ReasonOf(const absl::Status& status) {
  const RejectReason* const reason = RejectReasonOf(status);
  EXPECT_NE(reason, nullptr) << status;
  return reason == nullptr ? RejectReason::kMemory : *reason;
}

TEST_F(AdmissionControllerTest, AdmitsOnAnIdleServer) {
  const auto controller = Make();
  EXPECT_TRUE(controller.HasRoom(CostClass::kShort, 1));
  EXPECT_TRUE(controller.HasRoom(CostClass::kLong, 1));
  EXPECT_TRUE(controller.HasRoom(std::nullopt, 1));
}

TEST_F(AdmissionControllerTest, AdmitsNoCallWhileDraining) {
  const auto controller = Make();
  draining_ = true;
  EXPECT_FALSE(controller.HasRoom(CostClass::kShort, 1));
  EXPECT_EQ(ReasonOf(controller.RejectionOf({}, kNow)),
            RejectReason::kDraining);
}

TEST_F(AdmissionControllerTest, AdmitsNoMoreThanItsMaximum) {
  auto controller = Make();
  for (int i = 0; i < controller.max_active(); ++i) {
    EXPECT_TRUE(controller.HasRoom(std::nullopt, 1));
    controller.OnAdmitted(std::nullopt);
  }
  EXPECT_FALSE(controller.HasRoom(std::nullopt, 1));
  controller.OnHandled();
  EXPECT_TRUE(controller.HasRoom(std::nullopt, 1));
}

TEST_F(AdmissionControllerTest, CountsCallsThatAreStillBeingRead) {
  LearnLongCalls();
  auto controller = Make();
  EXPECT_TRUE(controller.HasRoom(CostClass::kLong, 2));
  controller.OnAdmitted(CostClass::kLong);
  EXPECT_NEAR(controller.EstimateWait(CostClass::kLong), 0.5, 1e-3);
  // The next call would wait half a second.
  EXPECT_FALSE(controller.HasRoom(CostClass::kLong, 0.4));
  EXPECT_TRUE(controller.HasRoom(CostClass::kLong, 0.6));
}

TEST_F(AdmissionControllerTest, ReadsAtMostFourLongCallsPerThreadAhead) {
  LearnLongCalls();
  auto controller = Make();
  for (int i = 0; i < 4; ++i) controller.OnAdmitted(CostClass::kLong);
  EXPECT_FALSE(controller.HasRoom(CostClass::kLong, 100));
  EXPECT_TRUE(controller.HasRoom(CostClass::kShort, 1));
}

TEST_F(AdmissionControllerTest, DefersUpToTheQueueLimit) {
  auto controller = Make(/*max_queued_calls=*/3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(controller.MayDefer(CostClass::kShort));
    controller.OnDeferred(CostClass::kShort);
  }
  EXPECT_FALSE(controller.MayDefer(CostClass::kShort));
  EXPECT_EQ(
      ReasonOf(controller.RejectionOf({.cost_class = CostClass::kShort}, kNow)),
      RejectReason::kQueueFull);
  controller.OnUndeferred(CostClass::kShort);
  EXPECT_TRUE(controller.MayDefer(CostClass::kShort));
}

TEST_F(AdmissionControllerTest, LongCallsTakeHalfOfTheQueue) {
  auto controller = Make(/*max_queued_calls=*/4);
  controller.OnDeferred(CostClass::kLong);
  EXPECT_TRUE(controller.MayDefer(CostClass::kLong));
  controller.OnDeferred(CostClass::kLong);
  EXPECT_FALSE(controller.MayDefer(CostClass::kLong));
  EXPECT_TRUE(controller.MayDefer(CostClass::kShort));
}

TEST_F(AdmissionControllerTest, NamesTheDeadlineIfTheQueueWouldAllowTheWait) {
  const auto controller = Make();
  const CallTiming hurried(kNow, 0.5);
  EXPECT_EQ(ReasonOf(controller.RejectionOf({.cost_class = CostClass::kLong,
                                             .timing = hurried,
                                             .seconds_to_deadline = 0.5,
                                             .estimated_wait = 1},
                                            kNow)),
            RejectReason::kDeadline);
  const CallTiming patient(kNow, 60);
  EXPECT_EQ(ReasonOf(controller.RejectionOf({.cost_class = CostClass::kLong,
                                             .timing = patient,
                                             .seconds_to_deadline = 60,
                                             .estimated_wait = 1},
                                            kNow)),
            RejectReason::kQueueFull);
}

TEST_F(AdmissionControllerTest, RetryDelayIsHalfTheWaitButAtMostHalfTheLimit) {
  auto controller = Make(/*max_queued_calls=*/0);
  EXPECT_EQ(RetryDelayOf(controller.RejectionOf({.estimated_wait = 1}, kNow)),
            absl::Milliseconds(500));
  EXPECT_EQ(RetryDelayOf(controller.RejectionOf({.estimated_wait = 60}, kNow)),
            absl::Seconds(1));
}

TEST_F(AdmissionControllerTest, CancelsSlowReadsOnlyIfTheyBlockOthers) {
  auto controller = Make();
  EXPECT_FALSE(controller.ShouldCancelSlowRead(controller.max_active()));
  for (int i = 0; i < controller.max_active(); ++i) {
    controller.OnAdmitted(std::nullopt);
  }
  EXPECT_TRUE(controller.ShouldCancelSlowRead(controller.max_active()));
  EXPECT_FALSE(controller.ShouldCancelSlowRead(0));
}

TEST_F(AdmissionControllerTest, WaitsUntilNoCallIsDeferred) {
  auto controller = Make();
  controller.OnDeferred(std::nullopt);
  EXPECT_FALSE(controller.WaitForNoneDeferred(Clock::now()));
  std::thread other([&] { controller.OnUndeferred(std::nullopt); });
  EXPECT_TRUE(
      controller.WaitForNoneDeferred(Clock::now() + std::chrono::minutes(1)));
  other.join();
}

TEST_F(AdmissionControllerTest, WaitsUntilNoCallIsOpen) {
  auto controller = Make();
  controller.OnAdmitted(std::nullopt);
  std::atomic<bool> closed = false;
  std::thread other([&] {
    controller.OnRead();
    controller.OnHandled();
    closed = true;
    controller.OnClosed();
  });
  controller.WaitForIdle();
  EXPECT_TRUE(closed);
  other.join();
}

}  // namespace
}  // namespace locus::server
