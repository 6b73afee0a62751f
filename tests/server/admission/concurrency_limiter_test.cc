#include "server/admission/concurrency_limiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/admission/rejection.h"

namespace locus::server {
namespace {

using Request = ConcurrencyLimiter::Request;

constexpr Request kTrivial{.seconds = 1e-5};
constexpr Request kShort{.seconds = 1e-3};
constexpr Request kLong{.seconds = 1};

void AwaitQueued(const ConcurrencyLimiter& limiter, CostClass cost_class,
                 int count) {
  while (limiter.queued(cost_class) < count) std::this_thread::yield();
}

void ExpectRejected(const absl::StatusOr<ConcurrencyLimiter::Slot>& slot,
                    RejectReason reason) {
  ASSERT_EQ(slot.status().code(), absl::StatusCode::kUnavailable);
  ASSERT_NE(RejectReasonOf(slot.status()), nullptr);
  EXPECT_EQ(*RejectReasonOf(slot.status()), reason) << slot.status();
}

// Requests that wait for a slot, each on its own thread, until they are
// cancelled by the destructor.
class WaitingRequests {
 public:
  explicit WaitingRequests(ConcurrencyLimiter* limiter) : limiter_(*limiter) {}
  ~WaitingRequests() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void Add(const Request& request) {
    const CostClass cost_class = CostClassOf(request.seconds);
    const int before = limiter_.queued(cost_class);
    threads_.emplace_back([this, request] {
      const auto slot = limiter_.Enter(request, [this] {
        return stop_ ? absl::CancelledError("gone") : absl::OkStatus();
      });
      EXPECT_EQ(slot.status().code(), absl::StatusCode::kCancelled);
    });
    AwaitQueued(limiter_, cost_class, before + 1);
  }

 private:
  ConcurrencyLimiter& limiter_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

TEST(ConcurrencyLimiterTest, EstimatesTheWaitFromRecentCalls) {
  ConcurrencyLimiter limiter(
      {.slots = 2, .max_queued = 8, .max_wait_seconds = 100});
  EXPECT_EQ(limiter.EstimateWait(CostClass::kLong, 10), 0);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(limiter.Enter(kLong, {}).ok());
  // A call that finds a free slot does not wait; computing calls count half.
  EXPECT_EQ(limiter.EstimateWait(CostClass::kLong, 1), 0);
  EXPECT_NEAR(limiter.EstimateWait(CostClass::kLong, 2), 0.5, 1e-3);
  EXPECT_NEAR(limiter.EstimateWait(CostClass::kLong, 10), 4.5, 1e-3);
  EXPECT_EQ(limiter.EstimateWait(CostClass::kShort, 10), 0);
  EXPECT_NEAR(limiter.EstimateInterval(CostClass::kLong), 0.5, 1e-3);
  EXPECT_EQ(limiter.EstimateInterval(CostClass::kShort), 0);
}

TEST(ConcurrencyLimiterTest, RejectedRequestsDoNotChangeTheEstimate) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 8, .max_wait_seconds = 100});
  for (int i = 0; i < 200; ++i) {
    const Request impossible_deadline{.seconds = 600, .deadline = Clock::now()};
    ExpectRejected(limiter.Enter(impossible_deadline, {}),
                   RejectReason::kDeadline);
  }
  EXPECT_EQ(limiter.EstimateWait(CostClass::kLong, 10), 0);
}

TEST(ConcurrencyLimiterTest, EstimatedWaitIncludesTheQueue) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 8, .max_wait_seconds = 100});
  const auto slot = limiter.Enter(kLong, {});
  ASSERT_TRUE(slot.ok());
  WaitingRequests waiting(&limiter);
  waiting.Add(kLong);
  EXPECT_NEAR(limiter.EstimateWait(CostClass::kLong, 0), 1.5, 1e-9);
}

TEST(ConcurrencyLimiterTest, WouldRejectWhenEnterRejects) {
  ConcurrencyLimiter full(
      {.slots = 1, .max_queued = 0, .max_wait_seconds = 100});
  ConcurrencyLimiter slow(
      {.slots = 1, .max_queued = 8, .max_wait_seconds = 0.1});
  for (ConcurrencyLimiter* const limiter : {&full, &slow}) {
    EXPECT_FALSE(limiter->WouldReject(CostClass::kLong));
    const auto slot = limiter->Enter(kLong, {});
    EXPECT_TRUE(limiter->WouldReject(CostClass::kLong));
    // The other class is independent.
    EXPECT_FALSE(limiter->WouldReject(CostClass::kShort));
  }
}

TEST(ConcurrencyLimiterTest, TimeWaitedElsewhereCounts) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 8, .max_wait_seconds = 1});
  const auto slot = limiter.Enter(kLong, {});
  ASSERT_TRUE(slot.ok());
  Request late = kLong;
  late.waited = 0.75;  // and it would wait half a second here
  ExpectRejected(limiter.Enter(late, {}), RejectReason::kQueueFull);
  late.waited = 0.25;
  WaitingRequests waiting(&limiter);
  waiting.Add(late);
}

TEST(ConcurrencyLimiterTest, RetryDelayIsHalfTheWait) {
  EXPECT_EQ(RetryDelayOf(ConcurrencyLimiter::TooLong(1.5)),
            absl::Milliseconds(750));
}

TEST(ConcurrencyLimiterTest, AdmitsOneCallPerSlot) {
  ConcurrencyLimiter limiter({.slots = 2});
  auto first = limiter.Enter(kShort, {});
  auto second = limiter.Enter(kShort, {});
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(limiter.computing(CostClass::kShort), 2);
  EXPECT_EQ(limiter.computing(CostClass::kLong), 0);
}

TEST(ConcurrencyLimiterTest, RejectsWhenTheQueueIsFull) {
  ConcurrencyLimiter limiter({.slots = 1, .max_queued = 0});
  const auto slot = limiter.Enter(kShort, {});
  ExpectRejected(limiter.Enter(kShort, {}), RejectReason::kQueueFull);
}

TEST(ConcurrencyLimiterTest, ShortCallsDoNotWaitForLongOnes) {
  ConcurrencyLimiter limiter({.slots = 1, .max_queued = 8});
  const auto slot = limiter.Enter(kLong, {});
  WaitingRequests waiting(&limiter);
  waiting.Add(kLong);
  EXPECT_TRUE(limiter.Enter(kShort, {}).ok());
}

TEST(ConcurrencyLimiterTest, TrivialCallsNeedNoSlot) {
  ConcurrencyLimiter limiter({.slots = 1, .max_queued = 0});
  const auto slot = limiter.Enter(kShort, {});
  EXPECT_TRUE(limiter.Enter(kTrivial, {}).ok());
  EXPECT_EQ(limiter.computing(CostClass::kShort), 1);
}

TEST(CostClassPredictorTest, PredictsTheClassOfAllRecentCalls) {
  CostClassPredictor cost_class_predictor;
  EXPECT_EQ(cost_class_predictor.Predict(), std::nullopt);
  for (int i = 0; i < 100; ++i) cost_class_predictor.Record(CostClass::kLong);
  EXPECT_EQ(cost_class_predictor.Predict(), CostClass::kLong);
  cost_class_predictor.Record(CostClass::kShort);
  EXPECT_EQ(cost_class_predictor.Predict(), std::nullopt);
  for (int i = 0; i < 100; ++i) cost_class_predictor.Record(CostClass::kShort);
  EXPECT_EQ(cost_class_predictor.Predict(), CostClass::kShort);
  cost_class_predictor.Reset();
  EXPECT_EQ(cost_class_predictor.Predict(), std::nullopt);
}

TEST(ConcurrencyLimiterTest, LongCallsLeaveRoomInTheQueueForShortOnes) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 4, .max_wait_seconds = 100});
  const auto long_slot = limiter.Enter(kLong, {});
  const auto short_slot = limiter.Enter(kShort, {});
  WaitingRequests waiting(&limiter);
  waiting.Add(kLong);
  waiting.Add(kLong);
  ExpectRejected(limiter.Enter(kLong, {}), RejectReason::kQueueFull);
  waiting.Add(kShort);
  waiting.Add(kShort);
  ExpectRejected(limiter.Enter(kShort, {}), RejectReason::kQueueFull);
}

TEST(ConcurrencyLimiterTest, RejectsWhenTheWaitIsTooLong) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 100, .max_wait_seconds = 2});
  const auto slot =
      limiter.Enter(kLong, {});  // half a second is expected to be left
  WaitingRequests waiting(&limiter);
  waiting.Add(kLong);
  waiting.Add(kLong);
  const auto rejected = limiter.Enter(kLong, {});
  ExpectRejected(rejected, RejectReason::kQueueFull);
  EXPECT_EQ(RetryDelayOf(rejected.status()), absl::Milliseconds(1250));
  EXPECT_TRUE(limiter.Enter(kShort, {}).ok());
}

TEST(ConcurrencyLimiterTest, RejectsWhenTheDeadlineIsTooNear) {
  ConcurrencyLimiter limiter(
      {.slots = 1, .max_queued = 100, .max_wait_seconds = 100});
  Request tight_deadline = kLong;
  tight_deadline.deadline = Clock::now() + std::chrono::milliseconds(700);
  // The estimate alone is too uncertain for a rejection.
  EXPECT_TRUE(limiter.Enter(tight_deadline, {}).ok());
  // A tenth of the estimate exceeds this deadline.
  Request impossible_deadline = kLong;
  impossible_deadline.deadline = Clock::now() + std::chrono::milliseconds(90);
  ExpectRejected(limiter.Enter(impossible_deadline, {}),
                 RejectReason::kDeadline);
  const auto slot = limiter.Enter(kLong, {});
  ExpectRejected(limiter.Enter(tight_deadline, {}), RejectReason::kDeadline);
  // A request with more time waits.
  WaitingRequests waiting(&limiter);
  waiting.Add({.seconds = 1, .deadline = Clock::now() + std::chrono::hours(1)});
}

TEST(ConcurrencyLimiterTest, GrantsSlotsInOrder) {
  ConcurrencyLimiter limiter({.slots = 1, .max_queued = 8});
  std::optional<ConcurrencyLimiter::Slot> slot(*limiter.Enter(kShort, {}));
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = limiter.Enter(kShort, {});
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    AwaitQueued(limiter, CostClass::kShort, i + 1);
  }
  slot.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(limiter.computing(CostClass::kShort), 0);
}

TEST(ConcurrencyLimiterTest, CancelledRequestLeavesTheQueue) {
  ConcurrencyLimiter limiter({.slots = 1, .max_queued = 8});
  const auto slot = limiter.Enter(kShort, {});
  { WaitingRequests(&limiter).Add(kShort); }
  EXPECT_EQ(limiter.queued(CostClass::kShort), 0);
  EXPECT_EQ(limiter.computing(CostClass::kShort), 1);
}

// A slot is granted to a request at the very moment when it is cancelled: the
// cancellation check itself releases the slot that the request waits for.
TEST(ConcurrencyLimiterTest, SlotGrantedDuringCancellationIsReleased) {
  ConcurrencyLimiter limiter({.slots = 1,
                              .max_queued = 8,
                              .max_wait_seconds = 100,
                              .poll_interval = std::chrono::milliseconds(1)});
  std::optional<ConcurrencyLimiter::Slot> slot(*limiter.Enter(kShort, {}));
  const auto cancelled = limiter.Enter(kShort, [&] {
    slot.reset();
    EXPECT_EQ(limiter.computing(CostClass::kShort), 1);  // granted
    return absl::CancelledError("gone");
  });
  EXPECT_EQ(cancelled.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(limiter.computing(CostClass::kShort), 0);
  EXPECT_EQ(limiter.queued(CostClass::kShort), 0);
  EXPECT_TRUE(limiter.Enter(kShort, {}).ok());
}

}  // namespace
}  // namespace locus::server
