// AdmissionPolicy in a simulated server: goodput, waits, fairness, recovery.
//
// One case is left out. A client that keeps 10,000 calls in flight, each with a
// deadline of one second, over connections of 100 streams, sends its oldest
// call first. Its calls have waited in the client for nearly all of their time
// when the server sees them, so that no policy of the server can serve them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "tests/server/admission/simulation_scenarios.h"
#include "tests/server/admission/simulator.h"

namespace locus::server {
namespace {

constexpr double kTiny = 50e-6;
constexpr double kShort = 0.5e-3;
constexpr double kLong = 40e-3;

// ------------------------------------------------------------------- goodput

// Compute time of a call, offered load relative to the capacity, deadline in
// seconds (0: none), slots.
using Load = std::tuple<double, double, double, int>;

class AdmissionLoadTest : public testing::TestWithParam<Load> {
 protected:
  const double seconds_ = std::get<0>(GetParam());
  const double load_ = std::get<1>(GetParam());
  const double deadline_ = std::get<2>(GetParam());
  const int slots_ = std::get<3>(GetParam());
};

TEST_P(AdmissionLoadTest, GoodputIsNearTheOptimumAndWaitsAreBounded) {
  const double capacity = CapacityFor(seconds_, slots_);
  // With a deadline, the queue in the client is full after five seconds. Long
  // calls are few, and need more time for the same precision.
  Simulation simulation = Measure(
      deadline_ > 0 ? 7 : 3, seconds_ == kLong ? 20 : 2,
      {{.seconds = seconds_, .rate = load_ * capacity, .deadline = deadline_}});
  simulation.slots = slots_;
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_GE(RateOf(simulation, outcome[0]),
            0.9 * std::min(load_, 1.0) * capacity);
  EXPECT_LE(MaxOf(outcome[0].waits),
            simulation.max_wait_seconds +
                simulation.parameters.read_ahead_seconds + seconds_);
  if (load_ < 1) {
    EXPECT_EQ(outcome.excess, 0);
  }
  if (load_ > 1 && seconds_ == kLong) {
    EXPECT_LE(P99Of(outcome[0].rejection_latencies), 5e-3);
  }
}

std::string NameOfLoad(const testing::TestParamInfo<Load>& info) {
  const auto [seconds, load, deadline, slots] = info.param;
  return absl::StrCat(std::lround(seconds * 1e6), "us_load",
                      std::lround(load * 10), "tenths_",
                      deadline > 0 ? "deadline_" : "", slots, "slots");
}

INSTANTIATE_TEST_SUITE_P(Loads, AdmissionLoadTest,
                         testing::Combine(testing::Values(kTiny, kShort, kLong),
                                          testing::Values(0.5, 1, 2, 10),
                                          testing::Values(0),
                                          testing::Values(1)),
                         NameOfLoad);
INSTANTIATE_TEST_SUITE_P(Deadlines, AdmissionLoadTest,
                         testing::Combine(testing::Values(kShort, kLong),
                                          testing::Values(1, 2, 10),
                                          testing::Values(5),
                                          testing::Values(1)),
                         NameOfLoad);
INSTANTIATE_TEST_SUITE_P(Slots, AdmissionLoadTest,
                         testing::Combine(testing::Values(kShort, kLong),
                                          testing::Values(0.5, 1, 2, 10),
                                          testing::Values(0),
                                          testing::Values(4)),
                         NameOfLoad);

// A call of one second is admitted if at most one other is in the server: with
// one running and one waiting, the expected wait is 1.5 s, and 1.4 s are
// permitted. This is an M/D/1/2 queue. With arrivals at rate r, the probability
// that a departing call leaves none behind is exp(-r), so that
//
//   throughput = 1 / (1 + exp(-r) / r).
TEST(AdmissionSimulation, CallsOfASecondReachTheThroughputOfTheirQueue) {
  for (const double rate : {0.5, 1.0, 2.0, 10.0}) {
    const Simulation simulation =
        Measure(10, 2000, {{.seconds = 1, .rate = rate}});
    EXPECT_NEAR(RateOf(simulation, simulation.Run()[0]),
                1 / (1 + std::exp(-rate) / rate), 0.03)
        << rate;
  }
}

// With many connections, most of the excess reaches the server, and each of its
// calls takes CPU time for its rejection. The rest is the optimum.
TEST(AdmissionSimulation, GoodputOfManyConnectionsIsNearTheOptimum) {
  for (const double seconds : {kTiny, kShort, kLong}) {
    for (const double load : {2.0, 10.0}) {
      const double capacity = CapacityFor(seconds);
      const Simulation simulation = Measure(
          4, 4,
          {{.seconds = seconds, .rate = load * capacity, .connections = 64}});
      const Simulation::Outcome outcome = simulation.Run();
      const double cost = simulation.costs.accept + simulation.costs.reject;
      const double optimum = 1 - static_cast<double>(outcome.excess) / 4 * cost;
      EXPECT_GE(RateOf(simulation, outcome[0]) / capacity, 0.9 * optimum)
          << seconds << " " << load;
      // Streams and waits bound the excess: 6400 calls in 2 s, and the
      // rejections on arrival.
      EXPECT_LE(static_cast<double>(outcome.excess) / 4, 6400 / 2 + 600);
    }
  }
}

TEST(AdmissionSimulation, ClientsWithDeadlinesSeldomAbandonCalls) {
  for (const double seconds : {kTiny, kShort, kLong}) {
    for (const double load : {2.0, 10.0}) {
      const double capacity = CapacityFor(seconds);
      const Simulation simulation = Measure(2, 5,
                                            {{.seconds = seconds,
                                              .rate = load * capacity,
                                              .deadline = 1,
                                              .max_in_flight = 800}});
      const Simulation::Outcome outcome = simulation.Run();
      EXPECT_GE(RateOf(simulation, outcome[0]), 0.9 * capacity);
      EXPECT_LE(outcome[0].abandoned, outcome[0].calls / 100)
          << seconds << " " << load;
    }
  }
}

TEST(AdmissionSimulation, ClientsThatRetryLeaveTheGoodput) {
  for (const int connections : {8, 64}) {
    for (const double load : {2.0, 10.0}) {
      const double capacity = CapacityFor(kShort);
      const Simulation simulation = Measure(3, 3,
                                            {{.seconds = kShort,
                                              .rate = load * capacity,
                                              .deadline = 5,
                                              .max_attempts = 5,
                                              .connections = connections,
                                              .max_in_flight = 2000}});
      const Simulation::Outcome outcome = simulation.Run();
      EXPECT_GE(RateOf(simulation, outcome[0]), 0.9 * capacity);
      EXPECT_LE(outcome[0].rejected, outcome[0].calls / 100);
    }
  }
}

TEST(AdmissionSimulation, ClosedLoopIsServedCompletely) {
  const Simulation simulation = Measure(
      2, 2, {{.seconds = kShort, .concurrency = 900, .connections = 9}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_EQ(outcome.excess, 0);
  EXPECT_GE(RateOf(simulation, outcome[0]), 0.99 * CapacityFor(kShort));
}

// --------------------------------------------------------------- cost classes

TEST(AdmissionSimulation, LongCallsHardlyDelayShortOnes) {
  for (const int slots : {1, 4}) {
    const SimulatedClients light{.seconds = kShort,
                                 .rate = 0.3 * CapacityFor(kShort, slots)};
    Simulation alone = Measure(2, 4, {light});
    alone.slots = slots;
    Simulation both =
        Measure(2, 4,
                {light,
                 {.method = 1,
                  .seconds = kLong,
                  .rate = 10 * CapacityFor(kLong, slots)},
                 {.method = 2, .seconds = 1, .rate = 2.0 * slots}});
    both.slots = slots;
    const Simulation::Outcome outcome = both.Run();
    EXPECT_EQ(outcome[0].rejected, 0);
    // The processors are shared equally, so that calls take twice as long.
    EXPECT_LE(P99Of(outcome[0].latencies),
              3 * P99Of(alone.Run()[0].latencies) + 1e-3);
    EXPECT_GE(RateOf(both, outcome[0]), 0.98 * light.rate);
  }
}

TEST(AdmissionSimulation, NoClassAndNoMethodStarves) {
  const Simulation simulation =
      Measure(4, 12,
              {{.method = 0, .seconds = kTiny, .rate = 0.1 / kTiny},
               {.method = 1, .seconds = kShort, .rate = 10 / kShort},
               {.method = 2, .seconds = kLong, .rate = 10 / kLong},
               {.method = 3, .seconds = 0.2, .rate = 10 / 0.2}});
  const Simulation::Outcome outcome = simulation.Run();
  // Half of the processor is for long calls, and shared by two methods. The
  // tiny calls need less than their share, and all of them are served. The
  // short calls have the rest of this half.
  EXPECT_GE(RateOf(simulation, outcome[0]) * kTiny, 0.09);
  EXPECT_GE(RateOf(simulation, outcome[1]) * kShort, 0.2);
  EXPECT_GE(RateOf(simulation, outcome[2]) * kLong, 0.15);
  EXPECT_GE(RateOf(simulation, outcome[3]) * 0.2, 0.15);
}

TEST(AdmissionSimulation, SmallCallsBesideLargeOnesOfTheirMethodAreFast) {
  const Simulation simulation = Measure(
      2, 10,
      {{.seconds = 0.05, .concurrency = 48, .connections = 48},
       {.seconds = 0.2e-3, .rate = 20, .deadline = 1, .connections = 1}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_EQ(outcome[1].rejected + outcome[1].abandoned, 0);
  EXPECT_LE(P99Of(outcome[1].latencies), 15e-3);
}

// The cost of a call is not known before its message is read, and the
// connection sends both. Small calls share the fate of large ones.
TEST(AdmissionSimulation, SmallCallsOfAConnectionWithLargeOnesDoNotStarve) {
  const Simulation simulation =
      Measure(2, 10,
              {{.seconds = 0.05, .rate = 60, .peer = 7, .connections = 4},
               {.seconds = 0.2e-3, .rate = 60, .peer = 7, .connections = 4}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_GE(outcome[1].ok, outcome[1].calls / 5);
}

// Nothing is known about these calls until a worker for long calls has parsed
// their messages.
TEST(AdmissionSimulation,
     LargeMessagesOfUnknownConnectionsWaitForABoundedTime) {
  const Simulation simulation = Measure(0, 10,
                                        {{.seconds = kLong,
                                          .message_bytes = 6'000'000,
                                          .burst = 300,
                                          .connections = 300}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_GE(outcome[0].ok, 40);
  EXPECT_EQ(outcome[0].ok + outcome[0].rejected, 300);
  EXPECT_LE(MaxOf(outcome[0].waits), simulation.max_wait_seconds + kLong);
}

// Parsing takes 6 ms, which are not part of the estimates.
TEST(AdmissionSimulation, CallsWithLargeMessagesAreRejectedEarly) {
  for (const double load : {2.0, 10.0}) {
    const Simulation simulation = Measure(
        4, 20,
        {{.seconds = kLong, .message_bytes = 6'000'000, .rate = load / kLong}});
    const Simulation::Outcome outcome = simulation.Run();
    EXPECT_LE(P99Of(outcome[0].rejection_latencies), 5e-3) << load;
    EXPECT_GE(RateOf(simulation, outcome[0]), 0.9 / (kLong + 6e-3)) << load;
  }
}

// ------------------------------------------------------------------- fairness

TEST(AdmissionSimulation, MethodBelowItsShareIsServedCompletely) {
  for (const double seconds : {kShort, kLong}) {
    const double capacity = CapacityFor(seconds);
    const Simulation simulation =
        Measure(2, seconds == kLong ? 30 : 4,
                {{.method = 0, .seconds = seconds, .rate = 10 * capacity},
                 {.method = 1, .seconds = seconds, .rate = 0.3 * capacity}});
    const Simulation::Outcome outcome = simulation.Run();
    EXPECT_GE(outcome[1].ok, outcome[1].calls * 98 / 100 - 5) << seconds;
    EXPECT_LE(P99Of(outcome[1].waits), 15 * seconds + 5e-3) << seconds;
    EXPECT_GE(RateOf(simulation, outcome[0]), 0.6 * capacity) << seconds;
  }
}

TEST(AdmissionSimulation, OverloadedMethodsGetEqualComputeTime) {
  for (const double seconds : {kShort, kLong}) {
    const Simulation simulation =
        Measure(4, seconds == kLong ? 30 : 6,
                {{.method = 0, .seconds = seconds, .rate = 10 / seconds},
                 {.method = 1, .seconds = 4 * seconds, .rate = 1 / seconds}});
    const Simulation::Outcome outcome = simulation.Run();
    EXPECT_NEAR(outcome[0].ok_seconds / outcome[1].ok_seconds, 1, 0.1)
        << seconds;
  }
}

// --------------------------------------------------------- bursts and recovery

TEST(AdmissionSimulation, ExcessOfABurstIsRejectedAtOnce) {
  // The first burst comes from a connection that has made such calls before,
  // the second from an unknown one.
  for (const double seconds : {5e-3, kLong}) {
    for (const size_t peer : {7u, 8u}) {
      const Simulation simulation = Measure(0, 4,
                                            {{.seconds = seconds,
                                              .rate = 5,
                                              .end_time = 1,
                                              .peer = 7,
                                              .connections = 1},
                                             {.seconds = seconds,
                                              .burst = 60,
                                              .start_time = 1,
                                              .deadline = 0.2,
                                              .peer = peer,
                                              .connections = 1}});
      const Simulation::Outcome outcome = simulation.Run();
      // Within 0.2 s, the worker computes 0.2 s at most.
      EXPECT_GE(outcome[1].ok, 0.1 / seconds);
      EXPECT_EQ(outcome[1].ok + outcome[1].rejected, 60);
      EXPECT_LE(MaxOf(outcome[1].rejection_latencies), 5e-3)
          << seconds << " " << peer;
    }
  }
}

TEST(AdmissionSimulation, ExcessOfABurstOfShortCallsIsRejectedAtOnce) {
  const Simulation simulation =
      Measure(0, 4,
              {{.seconds = kShort, .rate = 1000, .end_time = 1, .peer = 7},
               {.seconds = kShort,
                .burst = 800,
                .start_time = 1,
                .deadline = 0.2,
                .peer = 7}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_GE(outcome[1].ok, 200);
  EXPECT_LE(outcome[1].abandoned, 16);
  // The polling thread accepts the burst first, which takes 32 ms.
  EXPECT_LE(P99Of(outcome[1].rejection_latencies), 40e-3);
}

TEST(AdmissionSimulation, RecoversWithinASecond) {
  for (const double seconds : {kTiny, kShort, kLong}) {
    const SimulatedClients light{.name = "light",
                                 .method = 1,
                                 .seconds = kShort,
                                 .rate = 0.2 * CapacityFor(kShort),
                                 .start_time = 4};
    const SimulatedClients overload{.seconds = seconds,
                                    .rate = 10 * CapacityFor(seconds),
                                    .end_time = 3,
                                    .max_in_flight = 1000};
    const double normal = P99Of(Measure(4, 2, {light}).Run()[0].latencies);
    const Simulation simulation = Measure(4, 2, {overload, light});
    const Simulation::Outcome outcome = simulation.Run();
    EXPECT_EQ(outcome[0].Rate(seconds == kLong ? 5 : 4, 6), 0) << seconds;
    EXPECT_GE(outcome[1].Rate(4, 6), 0.9 * light.rate) << seconds;
    EXPECT_LE(P99Of(outcome[1].latencies), 3 * normal) << seconds;
    EXPECT_LE(outcome.left, 2);
  }
}

// -------------------------------------------------------------- silent clients

TEST(AdmissionSimulation, SilentClientsDoNotKeepOthersOut) {
  const Simulation simulation =
      Measure(2, 4,
              {{.seconds = kShort, .rate = 0.5 * CapacityFor(kShort)},
               {.seconds = kShort,
                .rate = 2000,
                .connections = 16,
                .is_silent = true}});
  const Simulation::Outcome outcome = simulation.Run();
  EXPECT_EQ(outcome[0].rejected, 0);
  EXPECT_GE(RateOf(simulation, outcome[0]), 0.49 * CapacityFor(kShort));
  EXPECT_LE(P99Of(outcome[0].latencies), 20e-3);
}

}  // namespace
}  // namespace locus::server
