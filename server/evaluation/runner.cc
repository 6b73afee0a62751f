#include "server/evaluation/runner.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/evaluation/bounded_queue.h"
#include "server/evaluation/remaining_time.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::server {
namespace {
using Event = v1::EvaluateExtrapolationResponse;

// Events of an evaluation that wait to be sent, in bytes.
constexpr int64_t kMaxQueuedBytes = 1 << 20;
// Memory of an event in the queue in addition to its serialised size.
constexpr int64_t kEventOverheadBytes = 1024;
// A call is cancelled if the queue is full and the client reads nothing for
// this long.
constexpr std::chrono::seconds kReadTimeout(60);
constexpr std::chrono::milliseconds kCancellationPollInterval(100);
// The minimum time between two progress events.
constexpr std::chrono::milliseconds kProgressInterval(100);

// Receives the events of an evaluation and queues them for the client. Limits
// the rate of progress events, except for the first and the last of each run.
// Used by the thread that runs the evaluation.
class QueueSink final : public EvaluationSink {
 public:
  QueueSink(RpcScope* call, BoundedQueue<Event>* queue, Metrics* metrics)
      : call_(*call),
        queue_(*queue),
        metrics_(*metrics),
        start_(Clock::now()) {}

  void OnProgress(const EvaluationProgress& progress) override {
    const auto now = Clock::now();
    const double remaining_seconds =
        remaining_.Update(std::chrono::duration<double>(now - start_).count(),
                          progress.done_share);
    const bool is_first =
        progress.scheme_name != scheme_name_ || progress.seed != seed_;
    const bool is_last = progress.step == progress.step_count;
    if (is_first) step_ = 0;
    if (progress.step > step_) {
      metrics_.evaluation_steps().Increment(
          static_cast<double>(progress.step - step_));
      step_ = progress.step;
    }
    scheme_name_ = std::string(progress.scheme_name);
    seed_ = progress.seed;
    if (!is_first && !is_last && now < next_progress_) return;
    next_progress_ = now + kProgressInterval;
    Event event;
    ToProto(progress, remaining_seconds, event.mutable_progress());
    Push(std::move(event));
  }

  void OnCell(EvaluationCell cell) override {
    metrics_.evaluation_cells().Increment();
    Event event;
    ToProto(std::move(cell), event.mutable_cell());
    Push(std::move(event));
  }

 private:
  void Push(Event event) {
    const auto bytes =
        kEventOverheadBytes + static_cast<int64_t>(event.ByteSizeLong());
    if (queue_.Push(std::move(event), bytes, kReadTimeout)) return;
    // If the client does not read, cancelling the call ends the blocked write.
    if (!queue_.closed()) call_.Cancel();
    queue_.Close();
  }

  RpcScope& call_;
  BoundedQueue<Event>& queue_;
  Metrics& metrics_;
  const Clock::time_point start_;
  RemainingTime remaining_;
  std::string scheme_name_;
  uint64_t seed_ = 0;
  int64_t step_ = 0;  // the last step that was counted in the metrics
  Clock::time_point next_progress_;
};

}  // namespace

Clock::time_point StopBefore(Clock::time_point end, Clock::time_point now) {
  if (end == Clock::time_point::max() || end <= now) return end;
  return end -
         std::min<Clock::duration>((end - now) / 10, std::chrono::seconds(1));
}

int64_t StreamBufferBytes(int64_t max_cell_bytes) {
  // Besides the queue: a cell being created, a cell blocked in Push(), a cell
  // being written, and its serialised bytes.
  return kMaxQueuedBytes + 4 * (max_cell_bytes + kEventOverheadBytes);
}

absl::StatusOr<EvaluationSummary> RunEvaluation(ServerState& state,
                                                EvaluationExecutor& executor,
                                                RpcScope& call,
                                                const Evaluation& evaluation,
                                                ResponseStream<Event>& stream) {
  const Clock::time_point start = Clock::now();
  const absl::Cleanup count_time = [&] {
    call.record().AddComputeTime(Clock::now() - start);
  };
  BoundedQueue<Event> queue(kMaxQueuedBytes);
  QueueSink sink(&call, &queue, &state.metrics);
  const auto stop_time = StopBefore(call.deadline(), Clock::now());
  const CancellationCheck stop = [&]() -> absl::Status {
    if (queue.closed()) {
      return absl::CancelledError("the call was cancelled");
    }
    if (Clock::now() <
        std::min(stop_time, state.drain.evaluations_end.load())) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError("the evaluation ran out of time");
  };
  std::optional<absl::StatusOr<EvaluationSummary>> summary;
  std::exception_ptr failure;
  std::jthread driver([&] {
    executor.ApplyPriority();
    try {
      summary = evaluation.Run(executor.pool(), stop, sink);
    } catch (...) {
      failure = std::current_exception();
    }
    queue.Finish();
  });
  // Unblocks the driver on every path out of this function.
  const absl::Cleanup close = [&] { queue.Close(); };
  absl::Status stream_status;
  for (;;) {
    // This thread checks for cancellation, and the driver does not: the check
    // may make gRPC read from any connection, which would then stall while a
    // thread of the lowest priority waits for a processor.
    while (stream_status.ok() && !queue.Await(kCancellationPollInterval)) {
      stream_status = call.CheckCancellation();
      if (!stream_status.ok()) queue.Close();
    }
    const auto event = queue.Pop();
    if (!event) break;
    if (stream_status.ok()) stream_status = stream.Write(*event);
    if (!stream_status.ok()) queue.Close();
  }
  driver.join();
  if (failure) std::rethrow_exception(failure);
  if (!stream_status.ok()) return stream_status;
  return *std::move(summary);
}

}  // namespace locus::server
