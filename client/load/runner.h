// Runs a load test and collects its result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "client/load/schedule.h"
#include "client/load/statistics.h"
#include "client/load/worker.h"
#include "locus/client/cancellation.h"

namespace locus::client::load {

struct RunOptions {
  // Description of the run for reports. Does not affect the run itself.
  Setup setup;
  Target target;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  // Returns the schedule of an open-loop run, the same one on every call. Empty
  // for a closed-loop run.
  std::function<std::unique_ptr<Schedule>()> make_schedule;
  // Calls kept in flight by a closed-loop run.
  int concurrency = 0;
  // Number of workers. Calls and channels are divided among them.
  int threads = 1;
  // Maximum number of calls in flight of an open-loop run.
  int max_in_flight = 1;
  // See WorkerOptions::respect_pushback.
  bool respect_pushback = false;
  int64_t warm_up_nanos = 0;
  // Duration of the run, including the warm-up.
  int64_t length_nanos = 0;
  // Ends the run early unless null: sending stops at once, and calls in flight
  // are cancelled after two seconds. Not owned.
  CancellationToken* cancellation = nullptr;
  // Receives the statistics of every second, on the calling thread.
  std::function<void(const Interval&)> on_interval;
};

// Runs a load test to its end.
Result RunLoad(const RunOptions& options);

}  // namespace locus::client::load
