// Statistics of finished calls and the result of a run.
//
// Latency is measured from the intended start of a call, service time from the
// actual start. A client that starts calls late because the server is slow, and
// measures from the actual start, omits exactly the slow periods from its
// percentiles. This error is known as coordinated omission (Gil Tene, "How NOT
// to Measure Latency", 2013); latency from the intended start avoids it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/load/histogram.h"

namespace locus::client::load {

// One finished call. Times are in nanoseconds since the start of the run.
struct CallSample {
  int64_t intended = 0;
  int64_t started = 0;
  int64_t ended = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  // Queue and compute time from the server's trailers; unset if absent.
  std::optional<int64_t> queue_nanos = std::nullopt;
  std::optional<int64_t> compute_nanos = std::nullopt;
};

// Number of gRPC status codes, from OK to UNAUTHENTICATED.
constexpr int kCodeCount = 17;

// Aggregated calls. Latency, service, queue and compute times only include
// successful calls: errors are often fast, and would make a server that rejects
// calls look fast. Not thread-safe.
struct Statistics {
  // Time from the intended start to the end: the latency of a user whose
  // requests do not depend on earlier calls.
  Histogram latency;
  // Time from the actual start to the end.
  Histogram service;
  // Time in the server's queue, and time of computation.
  Histogram queue;
  Histogram compute;
  // Time of failed calls, from the intended start.
  Histogram failed;
  // Delay between the intended and the actual start, of all calls.
  Histogram delay;
  // Number of calls by status code.
  std::array<int64_t, kCodeCount> by_code{};
  // End of the last call.
  int64_t last_end = 0;

  void Add(const CallSample& sample);
  void Merge(const Statistics& other);
  void Clear();

  int64_t ok_count() const { return by_code[0]; }
  int64_t failed_count() const { return failed.count(); }
};

// Description of a run for reports.
struct Setup {
  // Server address, such as "127.0.0.1:50051", or a description of an embedded
  // server.
  std::string server;
  // Full method name, such as "/locus.v1.EncodingService/Encode".
  std::string method;
  int64_t request_bytes = 0;
  // Description of the load, such as "1000/s constant".
  std::string load;
  // Mean rate of the measured period in calls per second; 0 for a closed loop,
  // in which the server determines the rate.
  double offered_rate = 0;
  int connections = 0;
  int threads = 0;
  double warm_up_seconds = 0;
  double duration_seconds = 0;
  // The command line of the run; may be empty.
  std::string command = "";
};

// Statistics of about one second of a run.
struct Interval {
  double from_seconds = 0;
  double to_seconds = 0;
  int64_t ok = 0;
  int64_t failed = 0;
  // Calls in flight at the end of the interval.
  int64_t in_flight = 0;
  // Latency percentiles of the calls that ended in the interval, in
  // nanoseconds.
  int64_t p50 = 0;
  int64_t p90 = 0;
  int64_t p99 = 0;
  int64_t p999 = 0;
  int64_t max = 0;
  int64_t service_p50 = 0;
  int64_t service_p99 = 0;
};

// Resources that the client used during the run, including the warm-up.
struct ClientCost {
  double wall_seconds = 0;
  // Number of calls, including the warm-up.
  int64_t calls = 0;
  // CPU time of the threads that send and receive.
  double thread_cpu_seconds = 0;
  // CPU time of the busiest of these threads, as a fraction of the wall time.
  double busiest_thread = 0;
  // CPU time of the process, including gRPC's threads and an embedded server.
  double process_cpu_seconds = 0;
  // Busy fraction of all processors of the machine; unset if unknown.
  std::optional<double> machine_busy = std::nullopt;
};

// Result of a run.
struct Result {
  Setup setup;
  Statistics statistics;
  std::vector<Interval> timeline;
  ClientCost cost;
  // Time from the end of the warm-up to the end of the last call.
  double measured_seconds = 0;
  // Number of scheduled calls that were never sent because the run had ended.
  int64_t unsent = 0;
  // Number of calls that were cancelled because the run was interrupted.
  int64_t unfinished = 0;
  // Number of calls that started late because max_in_flight was reached.
  int64_t delayed = 0;
  // Number of calls that were not sent because of the server's pushback. They
  // count as rejected (UNAVAILABLE).
  int64_t suppressed = 0;
  bool interrupted = false;

  // Returns the number of successful calls per second.
  double Throughput() const;
  // Returns the fraction of scheduled calls that failed or were not sent.
  double ErrorRatio() const;
};

}  // namespace locus::client::load
