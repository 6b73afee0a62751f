// The order in which AdmissionPolicy serves calls, and what happens to calls
// that wait: adaptive LIFO, expiry, fairness between methods, slow messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/admission/policy.h"
#include "tests/server/admission/policy_driver.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;
using Call = AdmissionPolicy::Call;
using Stage = AdmissionPolicy::Stage;
using testing::ElementsAre;
using testing::IsEmpty;

// A server of one slot on which every connection sends long calls of 0.1 s. All
// of them are deferred while two are read: see Fill().
class PolicyQueueTest : public testing::Test {
 protected:
  explicit PolicyQueueTest(const AdmissionParameters& parameters = Parameters())
      : driver_({.methods = 3, .max_wait_seconds = 2, .read_ahead_bytes = -1},
                parameters) {
    for (size_t method = 0; method < 3; ++method) {
      driver_.Teach(0.1, {.method = method});
    }
  }
  // No rejections on arrival, so that calls are deferred.
  static AdmissionParameters Parameters() {
    AdmissionParameters parameters;
    parameters.rejection_burst = 0;
    parameters.rejections_per_second = 0;
    parameters.stall_seconds = 1000;
    return parameters;
  }

  // Two calls that take all of the room.
  void Fill() {
    for (int i = 0; i < 2; ++i) fillers_.push_back(driver_.Arrive());
    ASSERT_EQ(driver_.verdict().action, Action::kAdmit);
  }
  // Makes room for a call.
  void Free() {
    driver_.policy().OnFinish(fillers_.back(), 0);
    fillers_.pop_back();
  }
  Call* Defer(const PolicyDriver::Arrival& arrival = {}) {
    Call* const call = driver_.Arrive(arrival);
    EXPECT_EQ(driver_.verdict().action, Action::kDefer);
    return call;
  }
  void AdvanceInTicks(double seconds) {
    for (double passed = 0; passed < seconds - 1e-9; passed += 0.02) {
      driver_.Advance(0.02);
      EXPECT_THAT(driver_.Tick().read, IsEmpty());
    }
  }
  static std::vector<Call*> CallsOf(const PolicyDriver::Actions& actions) {
    std::vector<Call*> calls;
    for (const auto& [call, verdict] : actions.reject) calls.push_back(call);
    return calls;
  }

  PolicyDriver driver_;
  std::vector<Call*> fillers_;
};

// -------------------------------------------------------------- adaptive LIFO

TEST_F(PolicyQueueTest, DeferredCallsAreReadInOrderOfArrival) {
  Fill();
  Call* const first = Defer();
  driver_.Advance(0.001);
  Defer();
  AdvanceInTicks(1.78);
  Free();
  EXPECT_THAT(driver_.Tick().read, ElementsAre(first));
}

TEST_F(PolicyQueueTest, NewestCallIsReadFirstAfterAnOverloadedInterval) {
  Fill();
  Defer();
  driver_.Advance(0.001);
  Call* const last = Defer();
  // 0.9 * 2 s, and an interval of 0.1 s from the first tick after it.
  AdvanceInTicks(1.92);
  Free();
  EXPECT_THAT(driver_.Tick().read, ElementsAre(last));
}

TEST_F(PolicyQueueTest, OrderIsFifoAgainAfterTheOverload) {
  Fill();
  Defer();
  AdvanceInTicks(1.4);
  Call* const second = Defer();
  driver_.Advance(0.001);
  Defer();
  // The first call expires in the tick that reads the next one.
  AdvanceInTicks(0.58);
  driver_.Advance(0.02);
  Free();
  const auto actions = driver_.Tick();
  EXPECT_EQ(actions.reject.size(), 1u);
  EXPECT_THAT(actions.read, ElementsAre(second));
}

TEST_F(PolicyQueueTest, CallsThatCannotMeetTheirDeadlineAreSkipped) {
  Fill();
  Call* const hopeless = Defer({.deadline = 0.5});
  Call* const other = Defer({.deadline = 1});
  driver_.Advance(0.495);  // 5 ms are left, less than a tenth of 0.1 s
  Free();
  const auto actions = driver_.Tick();
  ASSERT_THAT(CallsOf(actions), ElementsAre(hopeless));
  EXPECT_EQ(actions.reject[0].second.reason, RejectReason::kDeadline);
  EXPECT_THAT(actions.read, ElementsAre(other));
}

TEST_F(PolicyQueueTest, CallsBehindReadMessagesNeedTimeForTheseToo) {
  Fill();
  Call* const hopeless = Defer({.deadline = 0.5});
  Call* const other = Defer({.deadline = 1});
  driver_.Advance(0.395);  // 0.105 s, of which 0.1 s for the call ahead
  Free();
  const auto actions = driver_.Tick();
  EXPECT_THAT(CallsOf(actions), ElementsAre(hopeless));
  EXPECT_THAT(actions.read, ElementsAre(other));
}

// ---------------------------------------------------------------------- expiry

TEST_F(PolicyQueueTest, CallsAreRejectedAtTheEndOfTheTimeThatTheyMayWait) {
  Fill();
  Call* const patient = Defer();
  Call* const hurried = Defer({.deadline = 1});
  driver_.Advance(0.999);
  EXPECT_THAT(driver_.Tick().reject, IsEmpty());
  driver_.policy().OnFinish(hurried, 0);  // as its client does
  driver_.Advance(1);
  EXPECT_THAT(driver_.Tick().reject, IsEmpty());
  driver_.Advance(0.001);
  const auto actions = driver_.Tick();
  ASSERT_THAT(CallsOf(actions), ElementsAre(patient));
  EXPECT_EQ(patient->stage, Stage::kDone);
  EXPECT_EQ(actions.reject[0].second.reason, RejectReason::kQueueFull);
  EXPECT_FALSE(actions.more);
  EXPECT_EQ(driver_.policy().deferred(), 0);
}

TEST_F(PolicyQueueTest, CallsAreRejectedAtTheirDeadline) {
  Fill();
  Call* const call = Defer({.deadline = 1});
  driver_.Advance(1);
  const auto actions = driver_.Tick();
  ASSERT_THAT(CallsOf(actions), ElementsAre(call));
  EXPECT_EQ(actions.reject[0].second.reason, RejectReason::kDeadline);
}

TEST_F(PolicyQueueTest, OneTickRejectsEightCallsAndAsksForAnother) {
  Fill();
  for (int i = 0; i < 20; ++i) Defer();
  driver_.Advance(2);
  for (const size_t expected : {8u, 8u, 4u}) {
    const auto actions = driver_.Tick();
    EXPECT_EQ(actions.reject.size(), expected);
    EXPECT_EQ(actions.more, expected == 8);
  }
  EXPECT_EQ(driver_.policy().deferred(), 0);
}

TEST_F(PolicyQueueTest, ExpiredCallsOfAllMethodsAreRejectedInTurn) {
  Fill();
  for (size_t method = 0; method < 3; ++method) {
    for (int i = 0; i < 4; ++i) Defer({.method = method});
  }
  driver_.Advance(2);
  std::vector<size_t> methods;
  for (const Call* const call : CallsOf(driver_.Tick())) {
    methods.push_back(call->method);
  }
  EXPECT_THAT(methods, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
}

// -------------------------------------------------------------------- fairness

// All calls can be read.
AdmissionParameters UnlimitedReading() {
  AdmissionParameters parameters;
  parameters.rejection_burst = 0;
  parameters.read_ahead_seconds = 1000;
  return parameters;
}

TEST(PolicyReadyTest, WorkersServeMethodsInTurn) {
  PolicyDriver driver({.methods = 3}, UnlimitedReading());
  for (size_t method = 0; method < 3; ++method) {
    for (int i = 0; i < 4; ++i) driver.ArriveAndRead({.method = method});
  }
  std::vector<size_t> methods;
  for (int i = 0; i < 6; ++i) {
    Call* const call = driver.policy().TakeReady(CostClass::kShort);
    methods.push_back(call->method);
    driver.Prepare(call, 1e-3);
  }
  EXPECT_THAT(methods, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST(PolicyReadyTest, CallsOfAMethodAreServedInOrder) {
  PolicyDriver driver;
  Call* const first = driver.ArriveAndRead();
  Call* const second = driver.ArriveAndRead();
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), first);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), second);
}

TEST(PolicyReadyTest, MethodsGetEqualTimeIfTheirCallsDiffer) {
  PolicyDriver driver({.methods = 2}, UnlimitedReading());
  for (int i = 0; i < 100; ++i) {
    driver.ArriveAndRead({.method = 0});
    driver.ArriveAndRead({.method = 1});
  }
  int served[2] = {0, 0};
  for (int i = 0; i < 50; ++i) {
    Call* const call = driver.policy().TakeReady(CostClass::kShort);
    ++served[call->method];
    // The cost is not known before.
    driver.Prepare(call, call->method == 0 ? 1e-3 : 4e-3);
    driver.policy().OnFinish(call, 0);
  }
  EXPECT_NEAR(served[0], 40, 1);
  EXPECT_NEAR(served[1], 10, 1);
}

TEST(PolicyReadyTest, IdleMethodGetsNoCredit) {
  PolicyDriver driver({.methods = 2}, UnlimitedReading());
  for (int i = 0; i < 120; ++i) driver.ArriveAndRead({.method = 0});
  const auto serve = [&] {
    Call* const call = driver.policy().TakeReady(CostClass::kShort);
    driver.Prepare(call, 1e-3);
    driver.policy().OnFinish(call, 0);
    return call->method;
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(serve(), 0u);
  for (int i = 0; i < 20; ++i) driver.ArriveAndRead({.method = 1});
  int served = 0;
  for (int i = 0; i < 20; ++i) served += serve() == 1 ? 1 : 0;
  EXPECT_NEAR(served, 10, 1);
}

TEST(PolicyReadyTest, IdleMethodKeepsItsDebt) {
  PolicyDriver driver({.methods = 2}, UnlimitedReading());
  const auto start = [&](double seconds) {
    Call* const call = driver.policy().TakeReady(CostClass::kShort);
    driver.Prepare(call, seconds);
    return call->method;
  };
  // Method 1 has work at all times; method 0 has received 4 ms at once.
  for (int i = 0; i < 10; ++i) driver.ArriveAndRead({.method = 1});
  driver.ArriveAndRead({.method = 0});
  EXPECT_EQ(start(4e-3), 0u);
  driver.ArriveAndRead({.method = 0});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(start(1e-3), 1u);
  EXPECT_EQ(start(4e-3), 0u);
}

TEST(PolicyReadyTest, DeferredCallsOfMethodsAreReadInTurn) {
  PolicyDriver driver({.methods = 3});
  for (size_t method = 0; method < 3; ++method) {
    driver.Teach(4e-3, {.method = method});
  }
  std::vector<Call*> reading;
  for (int i = 0; i < 13; ++i) reading.push_back(driver.Arrive());
  for (int i = 0; i < 4; ++i) driver.Arrive({.method = 1});
  for (int i = 0; i < 4; ++i) driver.Arrive({.method = 2});
  std::vector<size_t> methods;
  for (int i = 0; i < 6; ++i) {
    driver.policy().OnFinish(reading[static_cast<size_t>(i)], 0);
    for (const Call* const call : driver.Tick().read) {
      methods.push_back(call->method);
    }
  }
  EXPECT_THAT(methods, ElementsAre(1, 2, 1, 2, 1, 2));
}

// --------------------------------------------------------------- slow messages

TEST(PolicyReadingTest, StalledMessagesLeaveRoomForOthers) {
  PolicyDriver driver;
  driver.Teach(4e-3);
  std::vector<Call*> silent;
  for (int i = 0; i < 13; ++i) silent.push_back(driver.Arrive());
  Call* const deferred = driver.Arrive();
  ASSERT_EQ(driver.verdict().action, Action::kDefer);
  driver.Advance(0.099);
  EXPECT_THAT(driver.Tick().read, IsEmpty());
  driver.Advance(0.002);
  EXPECT_THAT(driver.Tick().read, ElementsAre(deferred));
  EXPECT_EQ(silent[0]->stage, Stage::kStalled);
  EXPECT_TRUE(driver.policy().has_waiting_calls());
  EXPECT_DOUBLE_EQ(driver.policy().EstimateWait(CostClass::kShort, 0), 4e-3);
}

TEST(PolicyReadingTest, StalledMessageIsServedOnceItIsThere) {
  PolicyDriver driver;
  Call* const call = driver.Arrive();
  driver.Advance(1);
  driver.Tick();
  driver.policy().OnRead(driver.now(), call, 0);
  EXPECT_EQ(driver.policy().ready(CostClass::kShort), 1);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kShort), call);
  EXPECT_EQ(driver.policy().ready(CostClass::kShort), 0);
}

TEST(PolicyReadingTest, CallIsCancelledIfItsMessageTakesTooLong) {
  PolicyDriver driver;
  Call* const call = driver.Arrive();
  driver.Advance(1);
  Call* const later = driver.Arrive();
  driver.Advance(118.9);
  EXPECT_THAT(driver.Tick().cancel, IsEmpty());
  driver.Advance(0.2);
  EXPECT_THAT(driver.Tick().cancel, ElementsAre(call));
  driver.policy().OnFinish(call, 0);
  EXPECT_THAT(driver.Tick().cancel, IsEmpty());
  driver.policy().OnFinish(later, 0);
  EXPECT_FALSE(driver.policy().has_waiting_calls());
}

TEST(PolicyReadingTest, TimeBeforeTheAdmissionIsNoReadingTime) {
  PolicyDriver driver;
  driver.Teach(4e-3);
  std::vector<Call*> calls;
  for (int i = 0; i < 13; ++i) calls.push_back(driver.Arrive());
  Call* const deferred = driver.Arrive();
  driver.Advance(0.09);
  for (Call* const call : calls) driver.policy().OnRead(driver.now(), call, 0);
  driver.policy().TakeReady(CostClass::kShort);
  ASSERT_THAT(driver.Tick().read, ElementsAre(deferred));
  driver.Advance(0.09);
  driver.Tick();
  EXPECT_EQ(deferred->stage, Stage::kReading);
}

// --------------------------------------------------------------------- the end

TEST_F(PolicyQueueTest, CallsMayEndInAnyStage) {
  Fill();
  Call* const deferred = Defer();
  Call* const reading = fillers_[0];
  Call* const ready = fillers_[1];
  Call* const running = driver_.ArriveAndRead({.connection = 9});
  ASSERT_EQ(driver_.policy().TakeReady(CostClass::kShort), running);
  driver_.policy().OnRead(driver_.now(), ready, 0);
  for (Call* const call : {deferred, reading, ready, running}) {
    driver_.policy().OnFinish(call, 0);
    EXPECT_EQ(call->stage, Stage::kDone);
    driver_.policy().OnFinish(call, 0);  // is ignored
  }
  EXPECT_EQ(driver_.policy().deferred(), 0);
  EXPECT_FALSE(driver_.policy().has_waiting_calls());
  for (const CostClass cost_class : kCostClasses) {
    EXPECT_EQ(driver_.policy().ready(cost_class), 0);
    EXPECT_EQ(driver_.policy().running(cost_class), 0);
    EXPECT_EQ(driver_.policy().TakeReady(cost_class), nullptr);
    EXPECT_EQ(driver_.policy().EstimateWait(cost_class, 0), 0);
  }
  EXPECT_THAT(driver_.Tick().read, IsEmpty());
}

TEST(PolicyReadingTest, NothingIsLearnedFromACallThatIsDoneAlready) {
  PolicyDriver driver;
  Call* const call = driver.Start(4e-3);
  driver.policy().OnFinish(call, 0);
  driver.policy().OnFinish(call, 1);
  EXPECT_NEAR(driver.Start(4e-3)->seconds, 4e-3, 1e-9);
}

TEST(PolicyReadingTest, StalledCallMayEnd) {
  PolicyDriver driver;
  Call* const call = driver.Arrive();
  driver.Advance(1);
  driver.Tick();
  ASSERT_EQ(call->stage, Stage::kStalled);
  driver.policy().OnFinish(call, 0);
  EXPECT_FALSE(driver.policy().has_waiting_calls());
  EXPECT_EQ(driver.policy().EstimateWait(CostClass::kShort, 0), 0);
}

TEST(AdmissionPolicyReadTest, SlowUploadIsNotWaiting) {
  PolicyDriver driver({.methods = 1, .max_wait_seconds = 2});
  Call* const call = driver.Arrive();
  ASSERT_EQ(call->stage, Stage::kReading);
  driver.Advance(30);
  driver.policy().OnRead(driver.now(), call, 1'500'000);
  ASSERT_EQ(driver.policy().TakeReady(CostClass::kShort), call);
  // A second of work, on a server that is otherwise idle.
  EXPECT_EQ(driver.policy().OnPrepared(driver.now(), call, {2e10, 0}).action,
            Action::kDefer);
  EXPECT_EQ(driver.policy().TakeReady(CostClass::kLong), call);
}

TEST(AdmissionPolicyReadTest, CancelsEachStalledCallOnceAndAFewAtATime) {
  PolicyDriver driver({.methods = 1});
  std::vector<Call*> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(driver.Arrive());
  driver.Advance(119);
  EXPECT_THAT(driver.Tick().cancel, IsEmpty());
  driver.Advance(1);
  std::vector<Call*> cancelled;
  for (int i = 0; i < 3; ++i) {
    const auto actions = driver.Tick();
    EXPECT_LE(actions.cancel.size(), 8u);
    EXPECT_EQ(actions.more, i < 2);
    cancelled.insert(cancelled.end(), actions.cancel.begin(),
                     actions.cancel.end());
  }
  EXPECT_EQ(cancelled, calls);
  EXPECT_THAT(driver.Tick().cancel, IsEmpty());
  for (Call* const call : calls) driver.policy().OnFinish(call, 0);
  EXPECT_FALSE(driver.policy().has_waiting_calls());
}

TEST(AdmissionPolicyReadTest, RejectsLargeMessagesOfUnknownConnections) {
  PolicyDriver driver({.methods = 1, .read_ahead_bytes = 50'000'000});
  std::vector<Call*> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(driver.Arrive());
  std::vector<Action> actions;
  for (Call* const call : calls) {
    ASSERT_EQ(call->stage, Stage::kReading);
    const auto verdict = driver.policy().OnRead(driver.now(), call, 23'000'000);
    actions.push_back(verdict.action);
    if (verdict.action == Action::kReject) {
      EXPECT_EQ(verdict.reason, RejectReason::kMemory);
    }
  }
  EXPECT_THAT(actions, testing::ElementsAre(Action::kDefer, Action::kDefer,
                                            Action::kReject, Action::kReject));
}

TEST(AdmissionPolicyReadTest, ServesIdleServerThatPermitsNoWait) {
  PolicyDriver driver({.methods = 1, .max_wait_seconds = 0});
  driver.Teach(1e-3);
  Call* const call = driver.Arrive();
  EXPECT_EQ(call->stage, Stage::kReading);
}

}  // namespace
}  // namespace locus::server
