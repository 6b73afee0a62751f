// Runs a load from its beginning to the report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "locus/client/cancellation.h"
#include "client/load/schedule.h"
#include "client/load/statistics.h"
#include "client/load/worker.h"

namespace locus::client::load {

struct RunOptions {
  // For the report; what follows decides what is done.
  Setup setup;
  Target target;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  // Makes the same schedule every time; empty: closed loop.
  std::function<std::unique_ptr<Schedule>()> make_schedule;
  // Calls kept under way in closed loop.
  int concurrency = 0;
  // Each sends its share over its share of the connections.
  int threads = 1;
  int max_in_flight = 1;
  // See WorkerOptions.
  bool heed_pushback = false;
  int64_t warm_up_nanos = 0;
  // With the warm-up.
  int64_t length_nanos = 0;
  // Ends the run early unless null: sending stops at once, and what is under
  // way then has two seconds.
  Canceller* canceller = nullptr;
  // Told about every second, on the thread that called.
  std::function<void(const Interval&)> on_interval;
};

Result RunLoad(const RunOptions& options);

}  // namespace locus::client::load
