// Shows by simulation what each constant of AdmissionParameters is for.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/server/admission/simulation_scenarios.h"
#include "tests/server/admission/simulator.h"

namespace locus::server {
namespace {

constexpr double kTiny = 50e-6;
constexpr double kShort = 0.5e-3;
constexpr double kLong = 40e-3;

// A scenario that depends on a parameter. With its default, the measured number
// is within [low, high]; with another value it is within the other range.
struct Range {
  double low;
  double high;
};
struct Effect {
  std::string name;
  double AdmissionParameters::*parameter;
  double changed;
  std::function<double(const AdmissionParameters&)> measure;
  Range by_default;
  Range if_changed;
};

double GoodputOf(Simulation simulation, const AdmissionParameters& parameters) {
  simulation.parameters = parameters;
  const double seconds = simulation.clients[0].seconds;
  return RateOf(simulation, simulation.Run()[0]) / CapacityFor(seconds);
}

// p99 latency of short calls beside others.
double LatencyBeside(SimulatedClients others,
                     const AdmissionParameters& parameters) {
  others.method = 1;
  Simulation simulation =
      Measure(1, 4, {{.seconds = kShort, .rate = 200}, others});
  simulation.parameters = parameters;
  return P99Of(simulation.Run()[0].latencies);
}

// Calls over 64 connections, so that much of the excess reaches the server.
Simulation ManyConnections(double seconds) {
  return Measure(
      4, 3, {{.seconds = seconds, .rate = 10 / seconds, .connections = 64}});
}

// Median wait of successful calls of 2 ms.
double MedianWait(const AdmissionParameters& parameters) {
  Simulation simulation = ManyConnections(2e-3);
  simulation.parameters = parameters;
  return MedianOf(simulation.Run()[0].waits);
}

// Median time to reject an excess call of 40 ms.
double RejectionLatency(const AdmissionParameters& parameters) {
  Simulation simulation = Measure(8, 6, {{.seconds = kLong, .rate = 250}});
  simulation.parameters = parameters;
  return MedianOf(simulation.Run()[0].rejection_latencies);
}

std::vector<Effect> Effects() {
  using P = AdmissionParameters;
  std::vector<Effect> effects;
  // Without a class for long calls, short ones wait behind them.
  effects.push_back({"long_seconds",
                     &P::long_seconds,
                     1,
                     [](const P& parameters) {
                       return LatencyBeside({.seconds = kLong, .rate = 20},
                                            parameters);
                     },
                     {0, 0.01},
                     {0.04, 1}});
  // Messages that are read wait in order of arrival, also under LIFO.
  effects.push_back({"read_ahead_seconds",
                     &P::read_ahead_seconds,
                     0.5,
                     MedianWait,
                     {0.04, 0.1},
                     {0.4, 1}});
  // Clients that send no message keep others out.
  effects.push_back({"stall_seconds",
                     &P::stall_seconds,
                     1e6,
                     [](const P& parameters) {
                       return GoodputOf(
                           Measure(1, 3,
                                   {{.seconds = kShort, .rate = 800},
                                    {.seconds = kShort,
                                     .rate = 2000,
                                     .connections = 16,
                                     .is_silent = true}}),
                           parameters);
                     },
                     {0.4, 0.5},
                     {0, 0.05}});
  // Streams of clients that send no message are freed.
  effects.push_back({"message_timeout_seconds",
                     &P::message_timeout_seconds,
                     60,
                     [](const P& parameters) {
                       Simulation simulation = Measure(
                           0, 100,
                           {{.rate = 10, .connections = 1, .is_silent = true}});
                       simulation.parameters = parameters;
                       return static_cast<double>(simulation.Run()[0].rejected);
                     },
                     {0, 0},
                     {100, 1000}});
  // The longest wait of an overloaded queue is this share of two seconds.
  effects.push_back({"slack",
                     &P::slack,
                     0.35,
                     [](const P& parameters) {
                       Simulation simulation =
                           Measure(4, 10, {{.seconds = kLong, .rate = 50}});
                       simulation.parameters = parameters;
                       return P99Of(simulation.Run()[0].waits);
                     },
                     {1.3, 1.5},
                     {0.65, 0.8}});
  // If the first calls are expected to take ten times as long as they do, none
  // would be admitted, and the estimate never corrected.
  effects.push_back({"cost_share",
                     &P::cost_share,
                     1,
                     [](const P& parameters) {
                       return GoodputOf(Measure(1, 10,
                                                {{.seconds = 10e-3,
                                                  .guess = 10,
                                                  .rate = 50,
                                                  .deadline = 0.05}}),
                                        parameters);
                     },
                     {0.4, 0.55},
                     {0, 0}});
  // Without any share, calls are started that cannot end in time.
  effects.push_back(
      {"cost_share",
       &P::cost_share,
       0,
       [](const P& parameters) {
         Simulation simulation =
             Measure(1, 10, {{.seconds = 2, .rate = 5, .deadline = 0.15}});
         simulation.parameters = parameters;
         return simulation.Run().worker_seconds;
       },
       {0, 0.1},
       {4, 10}});
  // A queue in which all calls are served in time must not become LIFO.
  effects.push_back({"overload_delay",
                     &P::overload_delay,
                     0.7,
                     [](const P& parameters) {
                       return GoodputOf(Measure(2, 2,
                                                {{.seconds = kTiny,
                                                  .rate = 2 / kTiny,
                                                  .deadline = 1,
                                                  .connections = 64,
                                                  .max_in_flight = 5700}}),
                                        parameters);
                     },
                     {0.98, 1.01},
                     {0, 0.6}});
  // Without LIFO, calls are served that have waited for nearly all their time.
  effects.push_back({"overload_interval_seconds",
                     &P::overload_interval_seconds,
                     1e6,
                     MedianWait,
                     {0.04, 0.1},
                     {1, 2.1}});
  // Calls that are cheaper than their rejection are served.
  effects.push_back({"rejection_seconds",
                     &P::rejection_seconds,
                     1e-6,
                     [](const P& parameters) {
                       return GoodputOf(ManyConnections(kTiny), parameters);
                     },
                     {0.98, 1.01},
                     {0, 0.97}});
  // Rejecting every excess call at once takes all of the CPU time...
  effects.push_back({"rejections_per_second",
                     &P::rejections_per_second,
                     1e6,
                     [](const P& parameters) {
                       return GoodputOf(ManyConnections(kShort), parameters);
                     },
                     {0.55, 0.9},
                     {0, 0.3}});
  // ... and rejecting none makes clients wait.
  effects.push_back({"rejections_per_second",
                     &P::rejections_per_second,
                     0,
                     RejectionLatency,
                     {0, 1e-3},
                     {0.1, 2.1}});
  // The excess of a burst is rejected at once.
  effects.push_back(
      {"rejection_burst",
       &P::rejection_burst,
       10,
       [](const P& parameters) {
         Simulation simulation = Measure(
             0.9, 3,
             {{.seconds = kShort, .rate = 1000, .end_time = 0.9, .peer = 7},
              {.seconds = kShort,
               .burst = 800,
               .start_time = 1,
               .deadline = 0.2,
               .peer = 7}});
         simulation.parameters = parameters;
         return P99Of(simulation.Run()[1].rejection_latencies);
       },
       {0, 0.04},
       {0.1, 0.3}});
  // Large messages are parsed by the workers for long calls.
  effects.push_back(
      {"parse_bytes_per_second",
       &P::parse_bytes_per_second,
       1e12,
       [](const P& parameters) {
         return LatencyBeside(
             {.seconds = 0.1e-3, .message_bytes = 40'000'000, .rate = 10},
             parameters);
       },
       {0, 0.015},
       {0.04, 1}});
  // If the queue is short, the expected wait is too, and clients would retry
  // many times.
  effects.push_back(
      {"min_retry_seconds",
       &P::min_retry_seconds,
       0,
       [](const P& parameters) {
         Simulation simulation = Measure(
             0.9, 1,
             {{.seconds = kShort, .rate = 100, .end_time = 0.9, .peer = 7},
              {.seconds = kShort,
               .burst = 30,
               .start_time = 1,
               .max_attempts = 100,
               .peer = 7}});
         simulation.max_queued = 4;
         simulation.parameters = parameters;
         return static_cast<double>(simulation.Run().excess);
       },
       {50, 300},
       {400, 2000}});
  return effects;
}

TEST(AdmissionSimulation, EveryParameterMatters) {
  std::set<std::string> names = {"rejections_per_tick"};  // see below
  for (const Effect& effect : Effects()) {
    names.insert(effect.name);
    AdmissionParameters parameters;
    const double by_default = effect.measure(parameters);
    parameters.*effect.parameter = effect.changed;
    const double if_changed = effect.measure(parameters);
    SCOPED_TRACE(effect.name);
    std::printf("%s = %g: %.3g, otherwise %.3g\n", effect.name.c_str(),
                effect.changed, if_changed, by_default);
    EXPECT_GE(by_default, effect.by_default.low);
    EXPECT_LE(by_default, effect.by_default.high);
    EXPECT_GE(if_changed, effect.if_changed.low);
    EXPECT_LE(if_changed, effect.if_changed.high);
  }
  // All members take 8 bytes, so that a new one without an effect is noticed.
  EXPECT_EQ(names.size(), sizeof(AdmissionParameters) / sizeof(double));
}

// When many deferred calls expire, calls of other methods are served between
// their rejections. The parameter is an integer, and has a test of its own.
TEST(AdmissionSimulation, RejectionsPerTickMatter) {
  Simulation simulation =
      Measure(2, 1.5,
              {{.seconds = 2e-3, .burst = 6400, .connections = 64},
               {.method = 1, .seconds = 0.2e-3, .rate = 100}});
  const double by_default = MaxOf(simulation.Run()[1].latencies);
  simulation.parameters.rejections_per_tick = 100'000;
  const double if_changed = MaxOf(simulation.Run()[1].latencies);
  std::printf("rejections_per_tick without limit: %.3g, otherwise %.3g\n",
              if_changed, by_default);
  EXPECT_LE(by_default, 0.05);
  EXPECT_GE(if_changed, 0.15);
}

}  // namespace
}  // namespace locus::server
