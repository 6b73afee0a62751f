#include "core/parallel/cancellation.h"

#include <gtest/gtest.h>

namespace locus {
namespace {

TEST(CancellationStateTest, EmptyCheckNeverStops) {
  const CancellationCheck never;
  CancellationState state(never);
  EXPECT_FALSE(state.ShouldStop());
  EXPECT_TRUE(state.status().ok());
}

TEST(CancellationStateTest, KeepsTheFirstStatus) {
  int polls = 0;
  const CancellationCheck check = [&]() -> absl::Status {
    switch (++polls) {
      case 1:
        return absl::OkStatus();
      case 2:
        return absl::DeadlineExceededError("");
      default:
        return absl::CancelledError("");
    }
  };
  CancellationState state(check);
  EXPECT_FALSE(state.ShouldStop());
  EXPECT_TRUE(state.ShouldStop());
  EXPECT_TRUE(state.ShouldStop());
  EXPECT_EQ(state.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(polls, 2);
}

TEST(PeriodicCheckTest, PollsOnlyAfterEnoughWork) {
  int polls = 0;
  const CancellationCheck check = [&] {
    ++polls;
    return absl::OkStatus();
  };
  CancellationState state(check);
  PeriodicCheck periodic_check(&state);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(periodic_check.After(1e6));
  EXPECT_EQ(polls, 0);
  EXPECT_FALSE(periodic_check.After(1e9));
  EXPECT_EQ(polls, 1);
}

TEST(PeriodicCheckTest, StaysStopped) {
  const CancellationCheck check = [] { return absl::CancelledError(""); };
  CancellationState state(check);
  PeriodicCheck periodic_check(&state);
  EXPECT_FALSE(periodic_check.stopped());
  EXPECT_TRUE(periodic_check.After(1e9));
  EXPECT_TRUE(periodic_check.stopped());
  EXPECT_TRUE(periodic_check.After(0));
}

TEST(PeriodicCheckTest, NullStateNeverStops) {
  PeriodicCheck periodic_check(nullptr);
  EXPECT_FALSE(periodic_check.After(1e12));
}

}  // namespace
}  // namespace locus
