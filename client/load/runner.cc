#include "client/load/runner.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "client/load/clock.h"
#include "client/load/units.h"

namespace locus::client::load {
namespace {

// Length of the intervals of the timeline.
constexpr int64_t kIntervalNanos = int64_t{1000} * 1000 * 1000;
// Interval at which the supervisor checks the workers.
constexpr absl::Duration kPollInterval = absl::Milliseconds(10);
// Time that calls in flight have to end after an interruption.
constexpr int64_t kCancelAfterNanos = int64_t{2} * 1000 * 1000 * 1000;
// Minimum time by which the last calls may start late, for pauses of a busy
// machine.
constexpr int64_t kGraceNanos = int64_t{1000} * 1000 * 1000;
// Time between the creation of the threads and the start of the run.
constexpr int64_t kLeadNanos = int64_t{5} * 1000 * 1000;

// Returns part number `index` of `total` divided into `count` nearly equal
// parts.
int Share(int total, int index, int count) {
  return total / count + (index < total % count ? 1 : 0);
}

// Returns the time after which no call is sent. An open-loop run may exceed its
// length a little, so that a pause near the end does not lose calls.
int64_t LastSend(const RunOptions& options) {
  if (options.make_schedule == nullptr) return options.length_nanos;
  return options.length_nanos +
         std::max(kGraceNanos, options.length_nanos / 20);
}

std::unique_ptr<Worker> StartWorker(const RunOptions& options, int index,
                                    int64_t start) {
  WorkerOptions worker;
  const int channel_count = static_cast<int>(options.channels.size());
  for (int i = index; i < channel_count; i += options.threads) {
    worker.channels.push_back(options.channels[i]);
  }
  // With fewer connections than threads, threads share connections.
  if (worker.channels.empty()) {
    worker.channels.push_back(options.channels[index % channel_count]);
  }
  worker.target = options.target;
  if (options.make_schedule != nullptr) {
    worker.schedule =
        MakeShard(options.make_schedule(), index, options.threads);
    worker.max_in_flight =
        std::max(1, Share(options.max_in_flight, index, options.threads));
  } else {
    worker.concurrency = Share(options.concurrency, index, options.threads);
    worker.max_in_flight = std::max(1, worker.concurrency);
  }
  worker.respect_pushback = options.respect_pushback;
  worker.start = start;
  worker.warm_up_nanos = options.warm_up_nanos;
  worker.end_nanos = LastSend(options);
  return std::make_unique<Worker>(std::move(worker));
}

// Runs the workers, divides time into intervals and collects the result.
class Supervisor {
 public:
  explicit Supervisor(const RunOptions& options)
      : options_(options),
        cpu_before_(ProcessCpuSeconds()),
        system_before_(ReadSystemCpuTime()),
        start_(NowNanos() + kLeadNanos) {
    result_.setup = options.setup;
    for (int i = 0; i < options.threads; ++i) {
      workers_.push_back(StartWorker(options, i, start_));
    }
  }

  Result Run() {
    while (!AllEnded()) {
      Pause();
      const int64_t now = NowNanos() - start_;
      if (now >= interval_begin_ + kIntervalNanos) EndInterval(now);
      HandleCancel(now);
    }
    const int64_t now = NowNanos() - start_;
    // A short remainder at the end is not reported as an interval, unless it is
    // the only one.
    if (now - interval_begin_ > kIntervalNanos / 2 ||
        result_.timeline.empty()) {
      EndInterval(now);
    }
    Collect(now);
    return std::move(result_);
  }

 private:
  bool AllEnded() const {
    return std::all_of(workers_.begin(), workers_.end(),
                       [](const auto& worker) { return worker->ended(); });
  }

  bool Cancelled() const {
    return options_.cancellation != nullptr &&
           options_.cancellation->cancelled();
  }

  // Blocks for the poll interval, or until the run is cancelled.
  void Pause() {
    CancellationToken never;
    // WaitFor() returns at once on a token that is already cancelled.
    (Cancelled() || options_.cancellation == nullptr ? never
                                                     : *options_.cancellation)
        .WaitFor(kPollInterval);
  }

  void HandleCancel(int64_t now) {
    if (!Cancelled()) return;
    if (!result_.interrupted) {
      result_.interrupted = true;
      cancelled_at_ = now;
      for (const auto& worker : workers_) worker->StopSending();
    }
    if (now > cancelled_at_ + kCancelAfterNanos) {
      for (const auto& worker : workers_) worker->CancelCalls();
    }
  }

  void EndInterval(int64_t now) {
    IntervalSums sums;
    for (const auto& worker : workers_) worker->TakeInterval(&sums);
    result_.timeline.push_back({.from_seconds = ToSeconds(interval_begin_),
                                .to_seconds = ToSeconds(now),
                                .ok = sums.ok,
                                .failed = sums.failed,
                                .in_flight = sums.in_flight,
                                .p50 = sums.latency.Percentile(50),
                                .p90 = sums.latency.Percentile(90),
                                .p99 = sums.latency.Percentile(99),
                                .p999 = sums.latency.Percentile(99.9),
                                .max = sums.latency.max(),
                                .service_p50 = sums.service.Percentile(50),
                                .service_p99 = sums.service.Percentile(99)});
    interval_begin_ = now;
    if (options_.on_interval) options_.on_interval(result_.timeline.back());
  }

  void Collect(int64_t now) {
    ClientCost& cost = result_.cost;
    cost.wall_seconds = ToSeconds(now);
    for (const auto& worker : workers_) {
      const WorkerTotals totals = worker->TakeTotals();
      result_.statistics.Merge(totals.statistics);
      result_.unsent += totals.unsent;
      result_.unfinished += totals.unfinished;
      result_.delayed += totals.delayed;
      result_.suppressed += totals.suppressed;
      cost.calls += totals.calls;
      for (const double seconds : totals.cpu_seconds) {
        cost.thread_cpu_seconds += seconds;
        cost.busiest_thread =
            std::max(cost.busiest_thread, seconds / cost.wall_seconds);
      }
    }
    cost.process_cpu_seconds = ProcessCpuSeconds() - cpu_before_;
    cost.machine_busy = BusyFraction(system_before_, ReadSystemCpuTime());
    // The measurement ends with the last call or with the schedule, whichever
    // is later: an overloaded server has a backlog when sending ends, and at
    // low rates the last call ends before the schedule does.
    const int64_t sending_end =
        result_.interrupted ? std::min(cancelled_at_, options_.length_nanos)
                            : options_.length_nanos;
    result_.measured_seconds = std::max(
        0.0, ToSeconds(std::max(result_.statistics.last_end, sending_end) -
                       options_.warm_up_nanos));
  }

  const RunOptions& options_;
  const double cpu_before_;
  const std::optional<SystemCpuTime> system_before_;
  const int64_t start_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int64_t interval_begin_ = 0;
  int64_t cancelled_at_ = 0;
  Result result_;
};

}  // namespace

Result RunLoad(const RunOptions& options) { return Supervisor(options).Run(); }

}  // namespace locus::client::load
