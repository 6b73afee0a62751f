#include "server/admission/memory_budget.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "server/admission/rejection.h"

namespace locus::server {
namespace {

TEST(MemoryBudgetTest, DestructorReleasesTheReservation) {
  MemoryBudget budget(100);
  {
    MemoryBudget::Reservation reservation(&budget);
    EXPECT_TRUE(reservation.Grow(60).ok());
    EXPECT_TRUE(reservation.Grow(40).ok());
    EXPECT_EQ(budget.reserved_bytes(), 100);
  }
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

TEST(MemoryBudgetTest, ExceedsTheLimitIfItCanNeverFit) {
  MemoryBudget budget(100);
  MemoryBudget::Reservation reservation(&budget);
  ASSERT_TRUE(reservation.Grow(60).ok());
  for (const int64_t bytes :
       {int64_t{41}, std::numeric_limits<int64_t>::max()}) {
    const absl::Status status = reservation.Grow(bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(LimitOf(status), "memory_budget_bytes");
  }
  EXPECT_EQ(budget.reserved_bytes(), 60);
}

TEST(MemoryBudgetTest, RejectsIfOtherCallsHoldTheMemory) {
  MemoryBudget budget(100);
  std::optional<MemoryBudget::Reservation> other(&budget);
  ASSERT_TRUE(other->Grow(60).ok());
  MemoryBudget::Reservation reservation(&budget);
  const absl::Status status = reservation.Grow(41);
  ASSERT_NE(RejectReasonOf(status), nullptr);
  EXPECT_EQ(*RejectReasonOf(status), RejectReason::kMemory);
  other.reset();
  EXPECT_TRUE(reservation.Grow(41).ok());
}

TEST(MemoryBudgetTest, ManyThreadsNeverExceedTheBudget) {
  MemoryBudget budget(100);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&budget] {
      for (int n = 0; n < 2000; ++n) {
        MemoryBudget::Reservation reservation(&budget);
        (void)reservation.Grow(40);
        ASSERT_LE(budget.reserved_bytes(), 100);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.reserved_bytes(), 0);
}

}  // namespace
}  // namespace locus::server
