// What is known of calls that have ended, and of a whole run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/load/histogram.h"

namespace locus::client::load {

// One call; times are nanoseconds since the run began.
struct CallSample {
  int64_t intended = 0;
  int64_t started = 0;
  int64_t ended = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  // As the server says in its trailers; unset if it did not.
  std::optional<int64_t> queue_nanos = std::nullopt;
  std::optional<int64_t> compute_nanos = std::nullopt;
};

// The codes of the contract, OK to UNAUTHENTICATED.
constexpr int kCodeCount = 17;

// Sums over calls. Times are of those that succeeded: an error is often fast,
// and would make a server that refuses look like one that is quick.
struct Statistics {
  // From the intended start to the end: what a caller who does not wait for the
  // calls before has to wait.
  Histogram latency;
  // From the actual start to the end.
  Histogram service;
  Histogram queue;
  Histogram compute;
  // Of calls that failed, from the intended start.
  Histogram failed;
  // By how much calls left late, whether they succeeded or not.
  Histogram delay;
  std::array<int64_t, kCodeCount> by_code{};
  // When the last one ended.
  int64_t last_end = 0;

  void Add(const CallSample& sample);
  void Merge(const Statistics& other);
  void Clear();

  int64_t ok_count() const { return by_code[0]; }
  int64_t failed_count() const { return failed.count(); }
};

// What a run was asked to do, for reports.
struct Setup {
  // "127.0.0.1:50051", or that it is in this process.
  std::string server;
  // "/locus.v1.EncodingService/Encode".
  std::string method;
  int64_t request_bytes = 0;
  // "1000/s constant".
  std::string load;
  // Mean over the measured time; 0 in closed loop, where the server decides.
  double offered_rate = 0;
  int connections = 0;
  int threads = 0;
  double warm_up_seconds = 0;
  double duration_seconds = 0;
};

// A stretch of a run, about a second long.
struct Interval {
  double from_seconds = 0;
  double to_seconds = 0;
  int64_t ok = 0;
  int64_t failed = 0;
  // At its end.
  int64_t in_flight = 0;
  // Of calls that ended in it, in nanoseconds.
  int64_t p50 = 0;
  int64_t p90 = 0;
  int64_t p99 = 0;
  int64_t p999 = 0;
  int64_t max = 0;
  int64_t service_p50 = 0;
  int64_t service_p99 = 0;
};

// What the client itself took, over the whole run with its warm-up.
struct ClientCost {
  double wall_seconds = 0;
  // Calls in that time, counted or not.
  int64_t calls = 0;
  // Processor time of the threads that send and receive.
  double thread_cpu_seconds = 0;
  // Of the busiest of them, as a share of the wall time.
  double busiest_thread = 0;
  // Of the whole process, with gRPC's own threads and, if the server is in this
  // process, with the server.
  double process_cpu_seconds = 0;
  // Of all processors of the machine, the share that was busy; unset where the
  // system does not say.
  std::optional<double> machine_busy = std::nullopt;
};

struct Result {
  Setup setup;
  Statistics statistics;
  std::vector<Interval> timeline;
  ClientCost cost;
  // From the end of the warm-up to the end of the last call.
  double measured_seconds = 0;
  // Calls that were meant to start but never did, since the run was over.
  int64_t unsent = 0;
  // Calls that we cancelled because the run was interrupted.
  int64_t unfinished = 0;
  // Calls that left late because too many were in flight.
  int64_t held_back = 0;
  // Calls that were not sent because the server had asked for a pause; they
  // count as refused.
  int64_t withheld = 0;
  bool interrupted = false;

  // Successful calls a second.
  double Throughput() const;
  // Of all calls that were to be made, the share that failed or was not sent.
  double ErrorShare() const;
};

}  // namespace locus::client::load
