#include "server/compute_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "server/status.h"

namespace locus::server {
namespace {

void AwaitQueued(const ComputeGate& gate, int count) {
  while (gate.queued() < count) std::this_thread::yield();
}

TEST(ComputeGateTest, AdmitsAsManyAsThereAreSlots) {
  ComputeGate gate(2, 0);
  auto first = gate.Enter({});
  auto second = gate.Enter({});
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(gate.computing(), 2);
}

TEST(ComputeGateTest, RefusesBeyondTheQueue) {
  ComputeGate gate(1, 0);
  const auto slot = gate.Enter({});
  const auto refused = gate.Enter({});
  ASSERT_NE(ShedReasonOf(refused.status()), nullptr);
  EXPECT_EQ(*ShedReasonOf(refused.status()), ShedReason::kQueueFull);
}

TEST(ComputeGateTest, ServesInOrder) {
  ComputeGate gate(1, 8);
  std::optional<ComputeGate::Slot> slot(*gate.Enter({}));
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const auto mine = gate.Enter({});
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    AwaitQueued(gate, i + 1);
  }
  slot.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(gate.computing(), 0);
}

TEST(ComputeGateTest, WaitingEndsWhenNobodyWantsTheResult) {
  ComputeGate gate(1, 8);
  const auto slot = gate.Enter({});
  std::atomic<bool> stop{false};
  std::thread waiter([&] {
    const auto refused = gate.Enter(
        [&] { return stop ? absl::CancelledError("gone") : absl::OkStatus(); });
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kCancelled);
  });
  AwaitQueued(gate, 1);
  stop = true;
  waiter.join();
  EXPECT_EQ(gate.queued(), 0);
  EXPECT_EQ(gate.computing(), 1);
}

TEST(ComputeGateTest, NoSlotIsLostWhenStopsAndGrantsRace) {
  ComputeGate gate(1, 100);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 300; ++n) {
        std::atomic<int> asked{0};
        (void)gate.Enter([&] {
          return ++asked > 1 ? absl::CancelledError("") : absl::OkStatus();
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.computing(), 0);
  EXPECT_EQ(gate.queued(), 0);
}

}  // namespace
}  // namespace locus::server
