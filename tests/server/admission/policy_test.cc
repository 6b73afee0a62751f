// Decisions of AdmissionPolicy about calls that arrive: admission, deferral and
// rejection. policy_classes_test.cc tests cost classes, policy_queue_test.cc
// the order of calls.
#include "server/admission/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/server/admission/policy_driver.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;
using Call = AdmissionPolicy::Call;
using Stage = AdmissionPolicy::Stage;
using testing::IsEmpty;

constexpr double kEpsilon = 1e-9;
// As Limits::read_ahead_bytes: long calls are not read early.
constexpr int64_t kNone = -1;

// Calls that arrive until one is not admitted.
int CountAdmitted(PolicyDriver* driver,
                  const PolicyDriver::Arrival& arrival = {}) {
  int count = 0;
  while (count < 10'000) {
    driver->Arrive(arrival);
    if (driver->verdict().action != Action::kAdmit) break;
    ++count;
  }
  return count;
}

// The same, with calls whose messages are there at once.
int CountRead(PolicyDriver* driver, const PolicyDriver::Arrival& arrival = {}) {
  int count = 0;
  while (count < 10'000) {
    Call* const call = driver->Arrive(arrival);
    if (driver->verdict().action != Action::kAdmit) break;
    driver->policy().OnRead(driver->now(), call, arrival.message_bytes);
    ++count;
  }
  return count;
}

// ----------------------------------------------------------------- admission

TEST(AdmissionPolicyTest, IdleServerAdmitsACall) {
  PolicyDriver driver;
  Call* const call = driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
  EXPECT_EQ(call->stage, Stage::kReading);
  EXPECT_TRUE(driver.policy().has_waiting_calls());
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), nullptr);
  driver.policy().OnRead(driver.now(), call, 100);
  EXPECT_EQ(driver.policy().ready(CostClass::kShort), 1);
  EXPECT_FALSE(driver.policy().has_waiting_calls());
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kLong), nullptr);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), call);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 1);
  EXPECT_EQ(driver.Prepare(call, 1e-3), Action::kAdmit);
  EXPECT_EQ(call->stage, Stage::kRunning);
  driver.policy().OnFinish(call, 1e-3);
  EXPECT_EQ(call->stage, Stage::kDone);
  EXPECT_EQ(driver.policy().running(CostClass::kShort), 0);
}

TEST(AdmissionPolicyTest, ReadsAheadByTheReadAheadTime) {
  PolicyDriver driver;
  driver.Teach(4e-3);
  // 0.05 s / 4 ms is 12.5.
  EXPECT_EQ(CountAdmitted(&driver), 13);
  EXPECT_EQ(driver.verdict().action, Action::kDefer);
  EXPECT_EQ(driver.policy().deferred(), 1);
}

TEST(AdmissionPolicyTest, EverySlotReadsAhead) {
  PolicyDriver driver({.slots = 4});
  driver.Teach(4e-3);
  EXPECT_EQ(CountAdmitted(&driver), 50);
}

TEST(AdmissionPolicyTest, CallsOfUnknownCostCountAsRejections) {
  PolicyDriver driver;
  // 0.05 s / 0.15 ms is 333.3.
  EXPECT_EQ(CountAdmitted(&driver), 334);
}

TEST(AdmissionPolicyTest, ReadsOneCallAheadOfEveryWorkerInAnyCase) {
  PolicyDriver driver(
      {.slots = 2, .max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  EXPECT_EQ(CountAdmitted(&driver), 4);
}

TEST(AdmissionPolicyTest, ReadsDeferredCallsAsWorkersTakeOthers) {
  PolicyDriver driver;
  driver.Teach(4e-3);
  Call* const first = driver.Arrive();
  EXPECT_EQ(CountAdmitted(&driver), 12);
  EXPECT_THAT(driver.Tick().read, IsEmpty());
  driver.policy().OnRead(driver.now(), first, 0);
  EXPECT_THAT(driver.Tick().read, IsEmpty());
  ASSERT_EQ(driver.policy().TakeReady(CostClass::kShort), first);
  const auto actions = driver.Tick();
  ASSERT_EQ(actions.read.size(), 1u);
  EXPECT_EQ(actions.read[0]->stage, Stage::kReading);
  EXPECT_EQ(driver.policy().deferred(), 0);
}

TEST(AdmissionPolicyTest, ReadsLongCallsEarlyWhileTheirMessagesFit) {
  for (const int64_t limit : {250, 300}) {
    PolicyDriver driver({.max_wait_seconds = 1000, .read_ahead_bytes = limit});
    driver.Teach(1, {.message_bytes = 100});
    EXPECT_EQ(CountAdmitted(&driver), limit / 100);
    EXPECT_EQ(driver.verdict().action, Action::kDefer);
  }
}

TEST(AdmissionPolicyTest, ReadsNoCallEarlyThatWouldWaitTooLong) {
  AdmissionParameters parameters;
  parameters.rejection_burst = 0;
  PolicyDriver driver({}, parameters);
  driver.Teach(1);
  driver.Start(1);
  EXPECT_EQ(CountAdmitted(&driver), 1);  // the next would wait for 1.5 s
  EXPECT_EQ(driver.verdict().action, Action::kDefer);
}

TEST(AdmissionPolicyTest, CallsDoNotOvertakeDeferredCallsOfTheirMethod) {
  PolicyDriver driver(
      {.methods = 2, .max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  driver.Teach(1, {.method = 1});
  Call* const first = driver.Arrive();
  driver.Arrive();
  driver.Arrive();
  ASSERT_EQ(driver.verdict().action, Action::kDefer);
  // Now there is room for a call, until the next tick.
  driver.policy().OnFinish(first, 0);
  driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kDefer);
  driver.Arrive({.method = 1});
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
}

// -------------------------------------------------------------- expected wait

TEST(AdmissionPolicyTest, NoWaitIsExpectedWhileAWorkerIsFree) {
  PolicyDriver driver({.slots = 2});
  driver.Teach(1);
  driver.Start(1);
  EXPECT_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 0);
  driver.Start(1);
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 0.5);
  EXPECT_EQ(driver.policy().EstimateWait(CostClass::kShort, 0), 0);
}

TEST(AdmissionPolicyTest, ExpectedWaitIsTheQueueAndHalfOfTheRunningCalls) {
  PolicyDriver driver({.max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  driver.Start(1);
  for (int i = 0; i < 3; ++i) driver.Arrive();
  EXPECT_EQ(driver.policy().deferred(), 2);
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 3.5);
}

TEST(AdmissionPolicyTest, SlotsDivideTheWait) {
  PolicyDriver driver(
      {.slots = 4, .max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  for (int i = 0; i < 8; ++i) driver.Arrive();
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kLong, 0), 2);
}

TEST(AdmissionPolicyTest, MethodWithFewCallsWaitsForItsShareOnly) {
  PolicyDriver driver(
      {.methods = 3, .max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  driver.Teach(1, {.method = 1});
  for (int i = 0; i < 9; ++i) driver.Arrive();
  driver.Arrive({.method = 1});
  const auto wait = [&](size_t method) {
    return driver.policy().EstimateWait(CostClass::kLong, method);
  };
  EXPECT_DOUBLE_EQ(wait(0), 10);  // all, which is less than 2 * 9
  EXPECT_DOUBLE_EQ(wait(1), 2);   // 2 methods with 1 s
  EXPECT_DOUBLE_EQ(wait(2), 0);
}

TEST(AdmissionPolicyTest, CheapCallsCountAsMuchAsTheirRejection) {
  PolicyDriver driver;
  driver.Teach(50e-6);
  driver.Arrive();
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kShort, 0), 150e-6);
}

// ----------------------------------------------------------------- rejection

TEST(AdmissionPolicyTest, RejectsACallThatWouldWaitTooLong) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.Start(1);
  driver.Arrive();  // waits for 0.5 s
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
  Call* const late = driver.Arrive();  // 1.5 s, more than 0.7 * 2 s
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(late->stage, Stage::kDone);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
  EXPECT_DOUBLE_EQ(driver.verdict().wait_seconds, 1.5);
  EXPECT_DOUBLE_EQ(driver.verdict().retry_seconds, 0.75);
}

TEST(AdmissionPolicyTest, AdmitsACallThatWouldWaitForTheSlackExactly) {
  // A wait of 0.5 s is 0.7 of 0.7142... s.
  PolicyDriver driver({.max_wait_seconds = 0.5 / 0.7 + 1e-6});
  driver.Teach(1);
  driver.Start(1);
  driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
  PolicyDriver other({.max_wait_seconds = 0.5 / 0.7 - 1e-6});
  other.Teach(1);
  other.Start(1);
  other.Arrive();
  EXPECT_EQ(other.verdict().action, Action::kReject);
}

TEST(AdmissionPolicyTest, RejectsACallThatWouldWaitForMostOfItsDeadline) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.Start(1);
  driver.Arrive({.deadline = 0.7});
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kDeadline);
  EXPECT_DOUBLE_EQ(driver.verdict().wait_seconds, 0.5);
  EXPECT_DOUBLE_EQ(driver.verdict().retry_seconds, 0.25);
  driver.Arrive({.deadline = 0.72});
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
}

TEST(AdmissionPolicyTest, TimeBeforeTheArrivalEventCountsAsWait) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.Start(1);
  Call* const call = driver.New({});
  driver.Advance(1.3);  // 0.7 s are left, of which 0.49 s may pass in a queue
  EXPECT_EQ(driver.policy().OnArrival(driver.now(), call).action,
            Action::kReject);
}

TEST(AdmissionPolicyTest, RejectsACallWithoutTimeForATenthOfItsWork) {
  PolicyDriver driver;
  driver.Teach(1);
  driver.Arrive({.deadline = 0.09});
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kDeadline);
  EXPECT_EQ(driver.verdict().wait_seconds, 0);
  EXPECT_EQ(driver.verdict().retry_seconds, 5e-3);  // the minimum
  driver.Arrive({.deadline = 0.11});
  EXPECT_EQ(driver.verdict().action, Action::kAdmit);
}

TEST(AdmissionPolicyTest, RetryDelayIsAtMostHalfOfTheTimeThatCallsMayWait) {
  PolicyDriver driver({.max_wait_seconds = 8});
  driver.Teach(10);
  driver.Start(10);
  for (int i = 0; i < 2; ++i) driver.Arrive();
  ASSERT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_DOUBLE_EQ(driver.verdict().wait_seconds, 15);
  EXPECT_DOUBLE_EQ(driver.verdict().retry_seconds, 4);
}

TEST(AdmissionPolicyTest, RejectsCallsIfTheQueueIsFull) {
  PolicyDriver driver({.max_queued = 3});
  driver.Teach(4e-3);
  EXPECT_EQ(CountRead(&driver), 3);
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
  // With a deadline, too: the full queue is the reason.
  driver.Arrive({.deadline = 1});
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
}

TEST(AdmissionPolicyTest, QueueOfSizeZeroStillServesOneCallAtATime) {
  PolicyDriver driver({.max_queued = 0});
  driver.Teach(4e-3);
  EXPECT_EQ(CountRead(&driver), 1);
  EXPECT_EQ(driver.verdict().action, Action::kReject);
}

TEST(AdmissionPolicyTest, LongCallsMayUseHalfOfTheQueue) {
  for (const int max_queued : {6, 5}) {
    PolicyDriver driver({.methods = 2,
                         .max_queued = max_queued,
                         .max_wait_seconds = 1000,
                         .read_ahead_bytes = kNone});
    driver.Teach(1);
    driver.Teach(4e-3, {.method = 1});
    for (int i = 0; i < 2; ++i) driver.Arrive();  // are read
    for (int i = 0; i < 3; ++i) {
      driver.Arrive();
      EXPECT_EQ(driver.verdict().action, Action::kDefer);
    }
    driver.Arrive();
    EXPECT_EQ(driver.verdict().action, Action::kReject);
    EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
    // The other half is left to short calls.
    EXPECT_EQ(CountRead(&driver, {.method = 1}), max_queued - 3);
    EXPECT_EQ(driver.verdict().action, Action::kReject);
  }
}

TEST(AdmissionPolicyTest, TokenBucketLimitsRejectionsOnArrival) {
  AdmissionParameters parameters;
  parameters.rejections_per_second = 10;
  parameters.rejection_burst = 3;
  PolicyDriver driver({.max_queued = 2}, parameters);
  driver.Teach(4e-3);
  EXPECT_EQ(CountRead(&driver), 2);  // and one rejection
  const auto rejections_of = [&](int calls) {
    int count = 0;
    for (int i = 0; i < calls; ++i) {
      driver.Arrive();
      count += driver.verdict().action == Action::kReject ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(rejections_of(5), 2);
  EXPECT_EQ(rejections_of(5), 0);
  EXPECT_NE(driver.verdict().action, Action::kReject);
  driver.Advance(0.2);
  EXPECT_EQ(rejections_of(5), 2);
}

TEST(AdmissionPolicyTest, SlotsMultiplyTheRateOfRejections) {
  AdmissionParameters parameters;
  parameters.rejections_per_second = 10;
  parameters.rejection_burst = 30;
  PolicyDriver driver({.slots = 4, .max_queued = 0}, parameters);
  driver.Teach(4e-3);
  for (int i = 0; i < 100; ++i) driver.Arrive();
  ASSERT_NE(driver.verdict().action, Action::kReject);
  driver.Advance(0.25 + kEpsilon);
  int count = 0;
  for (int i = 0; i < 20; ++i) {
    driver.Arrive();
    count += driver.verdict().action == Action::kReject ? 1 : 0;
  }
  EXPECT_EQ(count, 10);
}

TEST(AdmissionPolicyTest, CallsCheaperThanTheirRejectionAreNotRejected) {
  for (const double seconds : {140e-6, 160e-6}) {
    PolicyDriver driver({.max_queued = 2});
    driver.Teach(seconds);
    for (int i = 0; i < 1000; ++i) driver.Arrive();
    EXPECT_EQ(driver.verdict().action,
              seconds < 150e-6 ? Action::kDefer : Action::kReject);
  }
}

TEST(AdmissionPolicyTest, CallsOfUnknownCostAreRejectedAsOthersAre) {
  PolicyDriver driver({.max_queued = 2});
  driver.Teach(4e-3);
  CountRead(&driver);
  driver.Arrive({.connection = 2});
  EXPECT_EQ(driver.verdict().action, Action::kReject);
}

TEST(AdmissionPolicyTest, HardLimitRejectsEveryCall) {
  AdmissionParameters parameters;
  parameters.rejection_burst = 0;
  PolicyDriver driver({.methods = 2, .max_deferred = 5}, parameters);
  driver.Teach(50e-6);
  CountAdmitted(&driver);
  for (int i = 0; i < 4; ++i) driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kDefer);
  EXPECT_EQ(driver.policy().deferred(), 5);
  driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kQueueFull);
  EXPECT_EQ(driver.policy().deferred(), 5);
}

TEST(AdmissionPolicyTest, DrainingRejectsNewAndDeferredCalls) {
  PolicyDriver driver({.max_wait_seconds = 1000, .read_ahead_bytes = kNone});
  driver.Teach(1);
  Call* const running = driver.Start(1);
  Call* const reading = driver.Arrive();
  Call* const deferred = driver.Arrive();
  driver.policy().StartDraining();
  driver.Arrive();
  EXPECT_EQ(driver.verdict().action, Action::kReject);
  EXPECT_EQ(driver.verdict().reason, RejectReason::kDraining);
  const auto actions = driver.Tick();
  ASSERT_EQ(actions.reject.size(), 1u);
  EXPECT_EQ(actions.reject[0].first, deferred);
  EXPECT_EQ(actions.reject[0].second.reason, RejectReason::kDraining);
  // Calls that are admitted already complete.
  driver.policy().OnRead(driver.now(), reading, 0);
  driver.policy().OnFinish(running, 0);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), reading);
  EXPECT_EQ(driver.Prepare(reading, 1), Action::kDefer);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kLong), reading);
}

TEST(AdmissionPolicyTest, DrainingReadsNoDeferredCall) {
  AdmissionParameters parameters;
  parameters.rejections_per_tick = 1;
  PolicyDriver driver({.max_wait_seconds = 1000, .read_ahead_bytes = kNone},
                      parameters);
  driver.Teach(1);
  std::vector<Call*> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(driver.Arrive());
  for (Call* const call : {calls[0], calls[1]})
    driver.policy().OnFinish(call, 0);
  driver.policy().StartDraining();
  EXPECT_THAT(driver.Tick().read, IsEmpty());
  EXPECT_EQ(driver.policy().deferred(), 2);
}

}  // namespace
}  // namespace locus::server
