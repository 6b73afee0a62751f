// Helpers for tests that simulate a server.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tests/server/admission/simulator.h"

namespace locus::server {

// Calls per second of a closed loop.
inline double CapacityFor(double call_seconds, int slots = 1) {
  static std::map<std::pair<double, int>, double> known;
  double& capacity = known[{call_seconds, slots}];
  if (capacity == 0) {
    Simulation simulation;
    simulation.slots = slots;
    capacity = simulation.Capacity(call_seconds);
  }
  return capacity;
}

// A simulation whose results are of `seconds` after a warm-up.
inline Simulation Measure(double warm_up, double seconds,
                          std::vector<SimulatedClients> clients) {
  Simulation simulation;
  simulation.warm_up = warm_up;
  simulation.seconds = warm_up + seconds;
  simulation.clients = std::move(clients);
  return simulation;
}

// Successful calls per second after the warm-up.
inline double RateOf(const Simulation& simulation,
                     const SimulatedResult& result) {
  return result.Rate(simulation.warm_up, simulation.seconds);
}

inline double MaxOf(const std::vector<double>& sorted) {
  return sorted.empty() ? 0 : sorted.back();
}

inline double MedianOf(const std::vector<double>& sorted) {
  return SimulatedResult().Percentile(sorted, 0.5);
}

inline double P99Of(const std::vector<double>& sorted) {
  return SimulatedResult().Percentile(sorted, 0.99);
}

}  // namespace locus::server
