// Simulates a server under load, and prints goodput, waits and rejections.
//
//   admission_simulation --seconds-per-call X --load L [OPTIONS]
//   admission_simulation --sweep
//
// The first form prints one line of JSON, the second a table as CSV, from which
// tests/docs/make_overload_chart.py draws the chart of docs/overload.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/server/admission/simulation_scenarios.h"
#include "tests/server/admission/simulator.h"

namespace locus::server {
namespace {

struct Options {
  double seconds_per_call = 0.5e-3;
  double load = 2;
  double deadline = 0;
  int connections = 8;
  int slots = 1;
  int64_t message_bytes = 0;
  // In microseconds.
  double accept = 40;
  double answer = 40;
  double reject = 60;
  bool sweep = false;
};

Simulation WithCosts(const Options& options) {
  Simulation simulation;
  simulation.slots = options.slots;
  simulation.costs.accept = options.accept * 1e-6;
  simulation.costs.answer = options.answer * 1e-6;
  simulation.costs.reject = options.reject * 1e-6;
  simulation.costs.abandon = options.reject * 1e-6;
  return simulation;
}

void PrintOne(const Options& options) {
  SimulatedClients clients{.seconds = options.seconds_per_call,
                           .message_bytes = options.message_bytes};
  clients.connections = options.connections;
  // The peak, as a closed loop with 16 clients for each slot.
  Simulation peak = WithCosts(options);
  clients.concurrency = 16 * options.slots;
  peak.clients = {clients};
  peak.max_wait_seconds = 1e6;
  peak.seconds = peak.warm_up + std::max(2.0, 50 * options.seconds_per_call);
  const Simulation::Outcome at_peak = peak.Run();
  const double capacity = RateOf(peak, at_peak[0]);

  Simulation overload = WithCosts(options);
  clients.concurrency = 0;
  clients.rate = options.load * capacity;
  clients.deadline = options.deadline;
  overload.clients = {clients};
  // With a deadline, the queue in the client takes as long to fill.
  overload.warm_up = std::max(4.0, options.deadline + 2);
  overload.seconds =
      overload.warm_up + std::max(4.0, 100 * options.seconds_per_call);
  const Simulation::Outcome outcome = overload.Run();
  const SimulatedResult& result = outcome[0];
  const nlohmann::json line = {
      {"capacity_per_second", capacity},
      {"goodput", RateOf(overload, result) / capacity},
      {"worker_share", outcome.worker_share()},
      {"peak_worker_share", at_peak.worker_share()},
      {"wait_p99_seconds", P99Of(result.waits)},
      {"rejection_p50_seconds", MedianOf(result.rejection_latencies)},
      {"rejection_p99_seconds", P99Of(result.rejection_latencies)},
      {"excess_per_second", static_cast<double>(outcome.excess) /
                                (overload.seconds - overload.warm_up)}};
  std::printf("%s\n", line.dump().c_str());
}

void PrintSweep() {
  std::printf("connections,seconds_per_call,load,goodput,wait_p99_seconds\n");
  for (const int connections : {8, 64}) {
    for (const double seconds : {50e-6, 0.5e-3, 40e-3, 1.0}) {
      const double capacity = CapacityFor(seconds);
      for (const double load :
           {0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0}) {
        const Simulation simulation = Measure(5, std::max(5.0, 500 * seconds),
                                              {{.seconds = seconds,
                                                .rate = load * capacity,
                                                .connections = connections}});
        const Simulation::Outcome outcome = simulation.Run();
        std::printf("%d,%g,%g,%.3f,%.3f\n", connections, seconds, load,
                    RateOf(simulation, outcome[0]) / capacity,
                    P99Of(outcome[0].waits));
      }
    }
  }
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Simulates a server under load.");
  app.add_option("--seconds-per-call", options.seconds_per_call,
                 "compute time of a call");
  app.add_option("--load", options.load, "offered load, 1 is the capacity");
  app.add_option("--deadline", options.deadline,
                 "deadline of a call in seconds; 0: none");
  app.add_option("--connections", options.connections, "connections");
  app.add_option("--slots", options.slots, "compute slots and processors");
  app.add_option("--message-bytes", options.message_bytes, "size of a request");
  app.add_option("--accept", options.accept,
                 "CPU time to accept a call, in microseconds");
  app.add_option("--answer", options.answer,
                 "CPU time to send a response, in microseconds");
  app.add_option("--reject", options.reject,
                 "CPU time to send a rejection, in microseconds");
  app.add_flag("--sweep", options.sweep, "print goodput over load as CSV");
  CLI11_PARSE(app, argc, argv);
  if (options.sweep) {
    PrintSweep();
  } else {
    PrintOne(options);
  }
  return 0;
}

}  // namespace
}  // namespace locus::server

int main(int argc, char** argv) { return locus::server::Main(argc, argv); }
