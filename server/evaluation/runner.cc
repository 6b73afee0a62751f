#include "server/evaluation/runner.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/evaluation/bounded_queue.h"
#include "server/services/convert/convert_evaluation.h"
#include "server/evaluation/remaining_time.h"

namespace locus::server {
namespace {

using Clock = std::chrono::steady_clock;
using Event = v1::EvaluateExtrapolationResponse;

constexpr int64_t kMaxQueuedBytes = 1 << 20;
// An event in the queue beside its own bytes.
constexpr int64_t kEventBytes = 1024;
// A caller that reads nothing for so long, while more than the queue holds
// waits for it, is given up.
constexpr std::chrono::seconds kPatience(60);
// How often to look whether the caller is still there.
constexpr std::chrono::milliseconds kLookAtCaller(100);
// Nobody reads progress faster than this.
constexpr std::chrono::milliseconds kProgressInterval(100);

// Puts what an evaluation says into the queue, progress now and then only: the
// first and the last of each run, and some between.
class QueueSink final : public EvaluationSink {
 public:
  QueueSink(Call* call, BoundedQueue<Event>* queue, Metrics* metrics)
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
    const auto bytes = kEventBytes + static_cast<int64_t>(event.ByteSizeLong());
    if (queue_.Push(std::move(event), bytes, kPatience)) return;
    // The write that waits for the caller ends with the call.
    if (!queue_.closed()) call_.Cancel();
    queue_.Close();
  }

  Call& call_;
  BoundedQueue<Event>& queue_;
  Metrics& metrics_;
  const Clock::time_point start_;
  RemainingTime remaining_;
  std::string scheme_name_;
  uint64_t seed_ = 0;
  int64_t step_ = 0;  // counted last
  Clock::time_point next_progress_;
};

}  // namespace

Clock::time_point StopBefore(Clock::time_point end, Clock::time_point now) {
  if (end == Clock::time_point::max() || end <= now) return end;
  return end -
         std::min<Clock::duration>((end - now) / 10, std::chrono::seconds(1));
}

int64_t StreamBytes(int64_t max_cell_bytes) {
  // One cell being made, one that waits for room, one written, and its bytes.
  return kMaxQueuedBytes + 4 * (max_cell_bytes + kEventBytes);
}

absl::StatusOr<EvaluationSummary> RunEvaluation(ServerState& state, Call& call,
                                                const Evaluation& evaluation,
                                                ResponseStream<Event>& stream) {
  const Call::ComputeTimer timer(&call);
  BoundedQueue<Event> queue(kMaxQueuedBytes);
  QueueSink sink(&call, &queue, &state.metrics);
  const auto stop_time = StopBefore(call.deadline(), Clock::now());
  const StopCheck stop = [&]() -> absl::Status {
    if (queue.closed()) return absl::CancelledError("the caller went away");
    if (Clock::now() < std::min(stop_time, state.evaluations_end.load())) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError("time is up");
  };
  std::optional<absl::StatusOr<EvaluationSummary>> summary;
  std::exception_ptr failure;
  std::jthread driver([&] {
    state.background.AdoptThread();
    try {
      summary = evaluation.Run(state.background.pool(), stop, sink);
    } catch (...) {
      failure = std::current_exception();
    }
    queue.Finish();
  });
  // Whatever happens here, the driver shall not wait for room for ever.
  const absl::Cleanup close = [&] { queue.Close(); };
  absl::Status told;
  for (;;) {
    // To ask for the caller may have gRPC read from any connection, which would
    // stand still for as long as a thread of the lowest priority that does so
    // has to wait for a processor. So the driver does not ask.
    while (told.ok() && !queue.Await(kLookAtCaller)) {
      told = call.CheckCaller();
      if (!told.ok()) queue.Close();
    }
    const auto event = queue.Pop();
    if (!event) break;
    if (told.ok()) told = stream.Write(*event);
    if (!told.ok()) queue.Close();
  }
  driver.join();
  if (failure) std::rethrow_exception(failure);
  if (!told.ok()) return told;
  return *std::move(summary);
}

}  // namespace locus::server
