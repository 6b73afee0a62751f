#include "server/evaluation/executor.h"

#include <gtest/gtest.h>

#include <utility>

#include "core/base/status.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

using Priority = EvaluationExecutor::Priority;

TEST(EvaluationExecutorTest, RejectsMoreThanMaxRunning) {
  EvaluationExecutor executor(1, 2, Priority::kNormal);
  const auto first = executor.Enter();
  const auto second = executor.Enter();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(executor.running(), 2);
  const auto third = executor.Enter();
  ASSERT_NE(RejectReasonOf(third.status()), nullptr);
  EXPECT_EQ(*RejectReasonOf(third.status()), RejectReason::kEvaluations);
  EXPECT_EQ(executor.running(), 2);
}

TEST(EvaluationExecutorTest, SlotIsReturnedOnce) {
  EvaluationExecutor executor(1, 1, Priority::kNormal);
  {
    auto slot = executor.Enter();
    ASSERT_TRUE(slot.ok());
    const EvaluationExecutor::Slot moved = *std::move(slot);
    EXPECT_EQ(executor.running(), 1);
  }
  EXPECT_EQ(executor.running(), 0);
  EXPECT_TRUE(executor.Enter().ok());
}

TEST(EvaluationExecutorTest, RejectsAllIfMaxRunningIsZero) {
  EvaluationExecutor executor(1, 0, Priority::kNormal);
  EXPECT_EQ(LimitOf(executor.Enter().status()), "max_evaluations");
}

TEST(EvaluationExecutorTest, LeavesOneThreadFreeAtLowestPriority) {
  const auto thread_count = [](int threads, Priority priority) {
    return EvaluationExecutor(threads, 1, priority).pool().thread_count();
  };
  EXPECT_EQ(thread_count(4, Priority::kNormal), 4);
  EXPECT_EQ(thread_count(4, Priority::kLowest), 3);
  EXPECT_EQ(thread_count(1, Priority::kLowest), 1);
}

}  // namespace
}  // namespace locus::server
