#include "server/admission/scheduler.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

using Action = AdmissionPolicy::Action;

constexpr absl::Duration kPatience = absl::Seconds(10);
// Work that takes 0.9999 s on the machine that CostEstimator assumes.
constexpr Work kLongWork{(0.9999 - 30e-6) * 2e10, 0};

// A call that records what the scheduler does with it. Its message arrives at
// once, unless `is_silent`.
class FakeTask final : public Scheduler::Task {
 public:
  explicit FakeTask(Scheduler* scheduler, Work given_work = {},
                    uint64_t connection_number = 1)
      : scheduler_(*scheduler), work_(given_work) {
    connection = connection_number;
    arrival = Clock::now();
  }

  void Read() override {
    ++reads;
    if (!is_silent) scheduler_.OnRead(this, 10);
  }
  void Run() override {
    ++runs;
    if (!is_known_) {
      is_known_ = true;
      const Scheduler::Prepared prepared = scheduler_.OnPrepared(this, work_);
      if (prepared.action == Action::kDefer) return;
      if (prepared.action == Action::kReject) return Reject(prepared.status);
    }
    started.Notify();
    if (block) release.WaitForNotification();
    scheduler_.OnFinish(this, 0);
    done.Notify();
  }
  void Reject(const absl::Status& rejection) override {
    status = rejection;
    done.Notify();
  }
  void Cancel() override { cancelled = true; }
  bool HasRead(int64_t bytes) override {
    return bytes > 0 && progress.exchange(false);
  }

  std::atomic<int> reads = 0;
  std::atomic<int> runs = 0;
  std::atomic<bool> cancelled = false;
  std::atomic<bool> progress = false;  // since the last HasRead()
  bool is_silent = false;
  bool block = false;
  absl::Status status;
  absl::Notification started;
  absl::Notification release;
  absl::Notification done;

 private:
  Scheduler& scheduler_;
  const Work work_;
  bool is_known_ = false;
};

// Polls until `condition` holds. Returns false after ten seconds.
template <typename Condition>
bool Eventually(Scheduler* scheduler, const Condition& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    scheduler->Poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

TEST(Scheduler, RunsACall) {
  Scheduler scheduler({.slots = 1});
  FakeTask task(&scheduler);
  scheduler.OnArrival(&task);
  ASSERT_TRUE(task.done.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(task.reads, 1);
  EXPECT_EQ(task.runs, 1);
  EXPECT_TRUE(task.status.ok());
}

TEST(Scheduler, LongCallMovesToAnotherWorkerAndShortOnesPassIt) {
  Scheduler scheduler({.slots = 1});
  FakeTask slow(&scheduler, kLongWork);
  slow.block = true;
  scheduler.OnArrival(&slow);
  ASSERT_TRUE(slow.started.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(slow.runs, 2);
  EXPECT_EQ(scheduler.computing(CostClass::kLong), 1);
  for (int i = 0; i < 20; ++i) {
    FakeTask quick(&scheduler, {}, 2);
    scheduler.OnArrival(&quick);
    ASSERT_TRUE(quick.done.WaitForNotificationWithTimeout(kPatience));
  }
  slow.release.Notify();
  ASSERT_TRUE(slow.done.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(scheduler.computing(CostClass::kLong), 0);
}

// Fills the read-ahead of the scheduler with calls that send no message, so
// that further ones are deferred.
class DeferralTest : public testing::Test {
 protected:
  DeferralTest() {
    for (int i = 0; i < 2; ++i) {
      silent_.push_back(std::make_unique<FakeTask>(&scheduler_));
      silent_.back()->is_silent = true;
      scheduler_.OnArrival(silent_.back().get());
    }
  }
  ~DeferralTest() override {
    for (const auto& task : silent_) scheduler_.OnFinish(task.get(), 0);
  }

  Scheduler scheduler_{{.slots = 1, .max_wait_seconds = 0.2},
                       {.read_ahead_seconds = 0, .stall_seconds = 60},
                       {}};
  std::vector<std::unique_ptr<FakeTask>> silent_;
};

TEST_F(DeferralTest, DeferredCallIsReadWhenThereIsRoom) {
  FakeTask task(&scheduler_);
  scheduler_.OnArrival(&task);
  EXPECT_EQ(scheduler_.deferred(), 1);
  EXPECT_EQ(task.reads, 0);
  scheduler_.OnFinish(silent_[0].get(), 0);
  scheduler_.Poll();
  EXPECT_EQ(task.reads, 1);
  EXPECT_TRUE(task.done.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(scheduler_.deferred(), 0);
}

TEST_F(DeferralTest, DeferredCallExpires) {
  FakeTask task(&scheduler_);
  scheduler_.OnArrival(&task);
  ASSERT_TRUE(
      Eventually(&scheduler_, [&] { return task.done.HasBeenNotified(); }));
  EXPECT_EQ(task.reads, 0);
  EXPECT_EQ(*RejectReasonOf(task.status), RejectReason::kQueueFull);
}

TEST_F(DeferralTest, CancelledDeferredCallIsRemovedOnce) {
  FakeTask task(&scheduler_);
  scheduler_.OnArrival(&task);
  EXPECT_TRUE(scheduler_.RemoveDeferred(&task));
  EXPECT_FALSE(scheduler_.RemoveDeferred(&task));
  EXPECT_EQ(scheduler_.deferred(), 0);
  scheduler_.OnFinish(silent_[0].get(), 0);
  scheduler_.Poll();
  EXPECT_EQ(task.reads, 0);
}

TEST_F(DeferralTest, DrainRejectsDeferredAndNewCalls) {
  FakeTask deferred(&scheduler_);
  scheduler_.OnArrival(&deferred);
  EXPECT_FALSE(scheduler_.WaitForNoneDeferred(Clock::now() +
                                              std::chrono::milliseconds(20)));
  scheduler_.StartDraining();
  std::thread poller([&] {
    Eventually(&scheduler_, [&] { return deferred.done.HasBeenNotified(); });
  });
  EXPECT_TRUE(
      scheduler_.WaitForNoneDeferred(Clock::now() + std::chrono::seconds(10)));
  poller.join();
  EXPECT_EQ(*RejectReasonOf(deferred.status), RejectReason::kDraining);
  FakeTask late(&scheduler_);
  scheduler_.OnArrival(&late);
  EXPECT_EQ(*RejectReasonOf(late.status), RejectReason::kDraining);
}

TEST(Scheduler, CancelsCallsWhoseMessageDoesNotArrive) {
  Scheduler scheduler({.slots = 1}, {.message_timeout_seconds = 0.1}, {});
  FakeTask task(&scheduler);
  task.is_silent = true;
  scheduler.OnArrival(&task);
  EXPECT_TRUE(Eventually(&scheduler, [&] { return task.cancelled.load(); }));
  scheduler.OnFinish(&task, 0);
}

TEST(Scheduler, CancelsResponsesThatAreNotRead) {
  Scheduler scheduler({.slots = 1}, {},
                      {.bytes_per_second = 1e7, .check_seconds = 0.02});
  FakeTask sent(&scheduler);
  FakeTask unread(&scheduler);
  FakeTask large(&scheduler);
  FakeTask delayed(&scheduler);
  delayed.progress = true;  // the client reads another response first
  const Clock::time_point start = Clock::now();
  scheduler.OnSending(&sent, 1 << 20, 0.02);
  scheduler.OnSending(&unread, 1 << 20, 0.02);
  scheduler.OnSending(&large, int64_t{1} << 40, 0.02);
  scheduler.OnSending(&delayed, 1 << 20, 0.02);
  scheduler.OnSent(&sent);
  EXPECT_TRUE(Eventually(&scheduler, [&] { return unread.cancelled.load(); }));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(120));
  EXPECT_TRUE(Eventually(&scheduler, [&] { return delayed.cancelled.load(); }));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(140));
  EXPECT_FALSE(sent.cancelled);
  EXPECT_FALSE(large.cancelled);
  scheduler.OnSent(&unread);
  scheduler.OnSent(&delayed);
  scheduler.OnSent(&large);
}

TEST(Scheduler, StatusesNameWaitDeadlineAndRetryDelay) {
  Scheduler scheduler({.slots = 1});
  FakeTask slow(&scheduler, kLongWork);
  slow.block = true;
  scheduler.OnArrival(&slow);
  ASSERT_TRUE(slow.started.WaitForNotificationWithTimeout(kPatience));
  // The connection is known to make calls of a second.
  FakeTask hurried(&scheduler, kLongWork);
  hurried.deadline = hurried.arrival + std::chrono::milliseconds(300);
  scheduler.OnArrival(&hurried);
  EXPECT_EQ(*RejectReasonOf(hurried.status), RejectReason::kDeadline);
  EXPECT_EQ(std::string(hurried.status.message()),
            "the call would wait about 500 ms and take 1000 ms; its deadline "
            "is in 300 ms; allow more time");
  EXPECT_NEAR(absl::ToDoubleMilliseconds(RetryDelayOf(hurried.status)), 250,
              0.1);
  slow.release.Notify();
  ASSERT_TRUE(slow.done.WaitForNotificationWithTimeout(kPatience));
}

// Many threads, with ThreadSanitizer in mind.
TEST(Scheduler, NoCallIsLostUnderConcurrentArrivals) {
  Scheduler scheduler({.slots = 2, .methods = 3, .max_wait_seconds = 60});
  constexpr int kThreads = 4;
  constexpr int kCalls = 500;
  std::vector<std::vector<std::unique_ptr<FakeTask>>> tasks(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        tasks[t].push_back(std::make_unique<FakeTask>(
            &scheduler, Work{i % 7 == 0 ? 3e8 : 1e5, 0}, 1 + t));
        tasks[t].back()->method = static_cast<size_t>(i % 3);
        scheduler.OnArrival(tasks[t].back().get());
        scheduler.Poll();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : tasks) {
    for (const auto& task : of_thread) {
      EXPECT_TRUE(
          Eventually(&scheduler, [&] { return task->done.HasBeenNotified(); }));
    }
  }
  for (const CostClass cost_class : kCostClasses) {
    EXPECT_EQ(scheduler.ready(cost_class), 0);
    EXPECT_EQ(scheduler.computing(cost_class), 0);
  }
}

}  // namespace
}  // namespace locus::server
