// Accounting of one call, from its arrival to the end of its response.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/base/status.h"
#include "core/parallel/cancellation.h"
#include "server/admission/cost_model.h"
#include "server/admission/memory_budget.h"
#include "server/base/clock.h"
#include "server/observability/metrics.h"
#include "server/rpc/call_metadata.h"
#include "server/rpc/cancellation_watch.h"
#include "server/rpc/server_state.h"

namespace locus::server {

// A method of a service: its path, its metrics, and the cost of its calls as
// learned so far. Thread-safe.
struct MethodInfo {
  MethodInfo(std::string method_path, MethodMetrics method_metrics, int threads)
      : path(std::move(method_path)), metrics(method_metrics), cost(threads) {}

  const std::string path;  // "/locus.v1.EncodingService/Encode"
  const MethodMetrics metrics;
  CostModel cost;
  CostClassPredictor cost_class_predictor;
};

// The scope of one call. It counts the call in progress, times it, holds its
// memory reservation until it is destroyed, and writes its metrics and its log
// line in Finish(). A handler receives the scope of its call, and uses
// options(), Reserve(), Run() and ComputeTimer; the remaining members are for
// the code that receives and answers calls.
//
// Thread-compatible, except for CheckCancellation() and Cancel(), which are
// thread-safe.
class RpcScope {
 public:
  // `start` is the time at which the call arrived. `state`, `method` and
  // `context` must outlive the scope.
  RpcScope(ServerState* state, MethodInfo* method, grpc::ServerContext* context,
           Clock::time_point start = Clock::now());
  ~RpcScope();
  RpcScope(const RpcScope&) = delete;
  RpcScope& operator=(const RpcScope&) = delete;

  const ServerOptions& options() const { return state_.options; }

  // Reserves `bytes` more until the scope is destroyed. RESOURCE_EXHAUSTED if
  // the call can never have that much memory, UNAVAILABLE if other calls hold
  // it.
  absl::Status Reserve(int64_t bytes);

  // Runs a job of core on the compute threads and returns its result: checks
  // its size against the limits, reserves its memory, waits for a slot, and
  // learns from the time it took.
  template <typename Job>
  auto Run(const Job& job)
      -> decltype(job.Run(std::declval<ThreadPool&>(), CancellationCheck())) {
    LOCUS_RETURN_IF_ERROR(ReserveForJob(
        job.output_bytes(), job.scratch_bytes(state_.pool.thread_count())));
    const Work work{job.flops(), job.output_bytes()};
    LOCUS_RETURN_IF_ERROR(CheckFlops(work.flops));
    const CancellationCheck stop = [this] { return cancellation_.Check(); };
    LOCUS_ASSIGN_OR_RETURN(const ConcurrencyLimiter::Slot slot,
                           WaitForSlot(work, stop));
    const ComputeTimer timer(this, &work);
    return job.Run(state_.pool, stop);
  }

  // Adds its own lifetime to the compute time of the call. If `work` is given
  // and was neither cancelled nor ended by an exception, the cost model of the
  // method learns from that time. `work` must outlive the timer.
  class ComputeTimer {
   public:
    explicit ComputeTimer(RpcScope* call, const Work* work = nullptr)
        : call_(*call),
          work_(work),
          exceptions_(std::uncaught_exceptions()),
          start_(Clock::now()) {}
    ~ComputeTimer();
    ComputeTimer(const ComputeTimer&) = delete;
    ComputeTimer& operator=(const ComputeTimer&) = delete;

   private:
    RpcScope& call_;
    const Work* const work_;
    const int exceptions_;  // uncaught exceptions at construction
    const Clock::time_point start_;
  };

  // The deadline of the call; Clock::time_point::max() if it has none.
  Clock::time_point deadline() const { return cancellation_.deadline(); }

  // UNAVAILABLE if the server is draining.
  absl::Status CheckServing() const;
  // CANCELLED or DEADLINE_EXCEEDED if the client no longer waits for the
  // response. Thread-safe.
  absl::Status CheckCancellation() { return cancellation_.Check(); }
  // Cancels the call from the server's side, which ends writes that wait for
  // the client. Thread-safe.
  void Cancel() { context_.TryCancel(); }
  // RESOURCE_EXHAUSTED if a response of that size exceeds --max-message-bytes.
  absl::Status CheckResponseBytes(int64_t bytes) const;

  // Adds to the time that the call has spent queued.
  void AddQueueTime(Clock::duration time) { queue_time_ += time; }
  // Counts one message and its bytes.
  void CountReceived(int64_t bytes);
  void CountSent(int64_t bytes);

  // Ends the call: sets the trailing metadata, updates the metrics, writes the
  // log line, and returns the status to send. Call either Finish() or
  // FinishCancelled(), once. Call it before the status is sent, so that a
  // client that has its response finds the call in the metrics.
  grpc::Status Finish(const absl::Status& status);
  // Same as Finish(), for a call that has ended before a response was sent.
  void FinishCancelled(const absl::Status& status);

 private:
  absl::Status CheckFlops(double flops) const;
  absl::Status ReserveForJob(int64_t output_bytes, int64_t scratch_bytes);
  absl::StatusOr<ConcurrencyLimiter::Slot> WaitForSlot(
      const Work& work, const CancellationCheck& stop);
  // Updates the metrics and writes the log line.
  void Record(const absl::Status& status, grpc::StatusCode code);
  void Log(const absl::Status& status, grpc::StatusCode code) const;

  ServerState& state_;
  MethodInfo& method_;
  grpc::ServerContext& context_;
  const Clock::time_point start_;
  CancellationWatch cancellation_;
  const std::string request_id_;
  MemoryBudget::Reservation memory_;
  Clock::duration queue_time_{};
  Clock::duration compute_time_{};
  int64_t request_bytes_ = 0;
  int64_t response_bytes_ = 0;
};

}  // namespace locus::server
