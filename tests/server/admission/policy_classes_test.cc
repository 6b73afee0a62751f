// Cost classes of AdmissionPolicy: which workers prepare and compute a call.
#include <gtest/gtest.h>

#include "server/admission/policy.h"
#include "tests/server/admission/policy_driver.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;
using Call = AdmissionPolicy::Call;
using Stage = AdmissionPolicy::Stage;

TEST(PolicyClassesTest, ClassesHaveWorkersOfTheirOwn) {
  PolicyDriver driver({.methods = 2});
  driver.Teach(1);
  driver.Teach(1e-3, {.method = 1});
  driver.Start(1);
  driver.Arrive();
  Call* const short_call = driver.ArriveAndRead({.method = 1});
  EXPECT_EQ(driver.policy().EstimateWait(CostClass::kShort, 1), 1e-3);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), short_call);
}

TEST(PolicyClassesTest, CallsFromFiveMillisecondsOnAreLong) {
  PolicyDriver driver({.methods = 2});
  driver.Teach(4.9e-3);
  driver.Teach(5.1e-3, {.method = 1});
  EXPECT_EQ(driver.Arrive()->cost_class, CostClass::kShort);
  EXPECT_EQ(driver.Arrive({.method = 1})->cost_class, CostClass::kLong);
}

TEST(PolicyClassesTest, LongCallOnAShortWorkerIsQueuedForALongOne) {
  PolicyDriver driver;
  Call* const call = driver.ArriveAndRead();
  ASSERT_EQ(driver.policy().TakeReady(CostClass::kShort), call);
  EXPECT_EQ(driver.Prepare(call, 0.04), Action::kDefer);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 0);
  EXPECT_EQ(driver.policy().ready(CostClass::kLong), 1);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kLong), call);
  // The connection is known from now on.
  EXPECT_EQ(driver.Arrive()->cost_class, CostClass::kLong);
}

TEST(AdmissionPolicyTest,
     LongCallOnAShortWorkerIsRejectedIfItWouldWaitTooLong) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.Start(1);
  driver.Arrive();
  Call* const call = driver.ArriveAndRead({.connection = 2});
  driver.policy().TakeReady(CostClass::kShort);
  EXPECT_EQ(driver.Prepare(call, 1), Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
  EXPECT_DOUBLE_EQ(driver.verdict().wait_seconds, 1.5);
  EXPECT_EQ(call->stage, Stage::kDone);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 0);
}

TEST(PolicyClassesTest, LongCallOnAShortWorkerIsRejectedIfTheQueueIsFull) {
  PolicyDriver driver({.max_queued = 4, .max_wait_seconds = 1000});
  const auto prepare = [&] {
    Call* const call = driver.ArriveAndRead();
    driver.policy().TakeReady(CostClass::kShort);
    return driver.Prepare(call, 1);
  };
  EXPECT_EQ(prepare(), Action::kDefer);
  EXPECT_EQ(prepare(), Action::kDefer);
  EXPECT_EQ(driver.policy().ready(CostClass::kLong), 2);
  EXPECT_EQ(prepare(), Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
}

TEST(PolicyClassesTest, ShortCallOnALongWorkerIsComputedThere) {
  PolicyDriver driver;
  Call* const call = driver.ArriveAndRead({.message_bytes = 10'000'000});
  ASSERT_EQ(driver.policy().TakeReady(CostClass::kLong), call);
  EXPECT_EQ(driver.Prepare(call, 1e-3), Action::kAdmit);
  EXPECT_EQ(driver.policy().running(CostClass::kLong), 1);
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 0.5e-3);
}

TEST(PolicyClassesTest, SmallCallOfAConnectionWithLongOnesIsRecognised) {
  PolicyDriver driver;
  driver.Teach(1);
  Call* const call = driver.ArriveAndRead();
  ASSERT_EQ(driver.policy().TakeReady(CostClass::kShort), call);
  EXPECT_EQ(driver.Prepare(call, 1e-3), Action::kAdmit);
  EXPECT_EQ(call->cost_class, CostClass::kShort);
  EXPECT_EQ(driver.Arrive()->cost_class, CostClass::kShort);
}

TEST(PolicyClassesTest, CallsComputeOnceTheyArePrepared) {
  PolicyDriver driver;
  Call* const call = driver.ArriveAndRead();
  driver.policy().TakeReady(CostClass::kShort);
  EXPECT_EQ(call->stage, Stage::kPreparing);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 1);
  EXPECT_EQ(driver.policy().computing(CostClass::kShort), 0);
  driver.Prepare(call, 1);
  EXPECT_EQ(driver.policy().computing(CostClass::kLong), 0);
  driver.policy().TakeReady(CostClass::kLong);
  EXPECT_EQ(call->stage, Stage::kRunning);
  EXPECT_EQ(driver.policy().computing(CostClass::kLong), 1);
}

TEST(PolicyClassesTest, LargeMessageIsParsedByALongWorker) {
  PolicyDriver driver;
  driver.ArriveAndRead({.message_bytes = 4'900'000});  // 4.9 ms
  EXPECT_EQ(driver.policy().ready(CostClass::kShort), 1);
  Call* const call = driver.ArriveAndRead({.message_bytes = 5'100'000});
  EXPECT_EQ(driver.policy().ready(CostClass::kLong), 1);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kLong), call);
}

TEST(PolicyClassesTest, LongCallWithALargeMessageKeepsItsCost) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.ArriveAndRead({.message_bytes = 6'000'000});
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 1);
}

TEST(PolicyClassesTest, PreparedCallWithoutTimeIsRejected) {
  PolicyDriver driver;
  Call* const call = driver.ArriveAndRead({.deadline = 1e-4});
  driver.policy().TakeReady(CostClass::kShort);
  EXPECT_EQ(driver.Prepare(call, 2e-3), Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kDeadline);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 0);
}

TEST(PolicyClassesTest, ExpiredCallIsNotComputedOnALongWorker) {
  for (const double seconds : {1.99, 2.0}) {
    PolicyDriver driver;
    Call* const call = driver.ArriveAndRead({.message_bytes = 10'000'000});
    driver.Advance(seconds);
    ASSERT_EQ(driver.policy().TakeReady(CostClass::kLong), call);
    EXPECT_EQ(driver.Prepare(call, 0.04),
              seconds < 2 ? Action::kAdmit : Action::kReject);
    EXPECT_EQ(driver.policy().running(CostClass::kLong), seconds < 2 ? 1 : 0);
  }
}

TEST(PolicyClassesTest, MeasuredTimesChangeTheEstimates) {
  PolicyDriver driver;
  for (int i = 0; i < 100; ++i) {
    driver.policy().OnFinish(driver.Start(4e-3), 0.4e-3);
  }
  driver.policy().OnFinish(driver.Start(4e-3), 0);
  EXPECT_NEAR(driver.Arrive()->seconds, 0.4e-3, 0.01e-3);
}

TEST(PolicyClassesTest, MethodsAreEstimatedSeparately) {
  PolicyDriver driver({.methods = 2});
  for (int i = 0; i < 100; ++i) {
    driver.policy().OnFinish(driver.Start(4e-3), 0.4e-3);
  }
  EXPECT_EQ(driver.Arrive({.method = 1})->seconds, 0);
  Call* const call = driver.Start(4e-3, {.method = 1});
  EXPECT_NEAR(call->seconds, 4e-3, 1e-6);
}

}  // namespace
}  // namespace locus::server
