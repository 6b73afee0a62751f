// A simulated server and its clients, for tests of AdmissionPolicy.
//
// The simulation is deterministic and runs in simulated time, about a thousand
// times faster than the server would. It models what the policy depends on:
//
// - Processors, one per slot. Polling threads (one per two slots) accept,
//   reject and answer calls, and have priority; the workers share the rest
//   equally.
// - The CPU time that gRPC takes for a call, for a rejection, and for a call
//   that the client abandons.
// - Connections with a limited number of streams. Further calls wait in the
//   client, which sends its oldest call first.
// - Deadlines, after which clients abandon their calls, and retries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/admission/policy.h"

namespace locus::server {

// CPU seconds of gRPC per call. docs/overload.md has the measurements.
struct SimulatedCosts {
  double accept = 40e-6;   // until the policy decides
  double answer = 40e-6;   // sending a response
  double reject = 60e-6;   // sending a rejection
  double abandon = 60e-6;  // removing a call that its client has cancelled
  double prepare = 10e-6;  // parsing a message, on a worker
  double read = 100e-6;    // latency of reading a message, no CPU time
};

// Some clients that behave in the same way.
struct SimulatedClients {
  std::string name;
  size_t method = 0;
  double seconds = 1e-3;  // compute time of a call
  // What the first call is expected to need, relative to `seconds`.
  double guess = 1;
  int64_t message_bytes = 0;

  // Open loop: calls per second, in Poisson arrivals.
  double rate = 0;
  // Closed loop: clients that each wait for a response before the next call.
  int concurrency = 0;
  // Calls at `start_time`, all at once.
  int burst = 0;

  double start_time = 0;
  double end_time = 1e9;
  double deadline = 0;  // seconds; 0: none
  int max_attempts = 1;
  // Clients with the same number share connections, as far as the policy can
  // see; 0: clients of their own.
  size_t peer = 0;
  int connections = 8;
  int streams = 100;           // per connection
  int max_in_flight = 10'000;  // further calls of an open loop are not made
  // Clients that send the headers of a call, but no message.
  bool is_silent = false;
};

struct SimulatedResult {
  std::string name;
  // Calls that were sent after the warm-up.
  int64_t calls = 0;
  int64_t ok = 0;
  int64_t rejected = 0;   // after the last attempt
  int64_t abandoned = 0;  // the deadline passed
  // The following are of calls that ended after the warm-up.
  double ok_seconds = 0;  // compute time of successful calls
  // Seconds that calls waited in the server; from the client's decision to
  // call to the response; and from arrival to rejection. Sorted.
  std::vector<double> waits;
  std::vector<double> latencies;
  std::vector<double> rejection_latencies;
  std::vector<double> ok_times;  // when any successful call ended

  double Percentile(const std::vector<double>& sorted, double share) const;
  // Successful calls per second between two times.
  double Rate(double from, double to) const;
};

struct Simulation {
  int slots = 1;
  size_t methods = 4;
  int max_queued = 1000;
  double max_wait_seconds = 2;
  AdmissionParameters parameters;
  SimulatedCosts costs;
  std::vector<SimulatedClients> clients;
  // The time from which on calls are counted, and the end.
  double warm_up = 0.5;
  double seconds = 3;
  uint64_t seed = 1;

  struct Outcome {
    std::vector<SimulatedResult> clients;
    double worker_seconds = 0;  // CPU time of workers, and of polling
    double polling_seconds = 0;
    int64_t excess = 0;  // attempts that were rejected or abandoned
    int max_deferred = 0;
    int left = 0;  // calls that the policy still counts at the end

    const SimulatedResult& operator[](size_t i) const { return clients[i]; }
    double worker_share() const {
      return worker_seconds / (worker_seconds + polling_seconds);
    }
  };
  Outcome Run() const;
  // Successful calls per second of a closed loop with such calls.
  double Capacity(double call_seconds) const;
};

}  // namespace locus::server
