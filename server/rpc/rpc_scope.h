// One call, from its first byte to its last: everything that is common to all.
#pragma once

#include <grpcpp/server_context.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/parallel/cancellation.h"
#include "core/base/status.h"
#include "server/rpc/call_metadata.h"
#include "server/admission/cost_model.h"
#include "server/admission/memory_budget.h"
#include "server/observability/metrics.h"
#include "server/rpc/server_state.h"

namespace locus::server {

// Which RPC a call is of, and where it is counted.
struct MethodInfo {
  MethodInfo(std::string method_path, MethodMetrics method_metrics, int threads)
      : path(std::move(method_path)), metrics(method_metrics), cost(threads) {}

  const std::string path;  // "/locus.v1.EncodingService/Encode"
  const MethodMetrics metrics;
  // Of its calls.
  mutable CostModel cost;
  mutable LaneHabit habit;
};

// Counts the call, times it, logs it, and holds its memory while it lives.
// Handlers use the first half; the kinds of methods the rest.
class Call {
 public:
  using Clock = std::chrono::steady_clock;

  // start: when it came.
  Call(ServerState* state, const MethodInfo* method,
       grpc::ServerContext* context, Clock::time_point start = Clock::now());
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const ServerOptions& options() const { return state_.options; }

  // Reserves memory until the answer is sent.
  absl::Status Reserve(int64_t bytes);

  // Checks and reserves what `job` needs, waits for a slot, and runs it.
  template <typename Job>
  auto Run(const Job& job)
      -> decltype(job.Run(std::declval<ThreadPool&>(), StopCheck())) {
    LOCUS_RETURN_IF_ERROR(ReserveForJob(
        job.output_bytes(), job.scratch_bytes(state_.pool.thread_count())));
    const Work work{job.flops(), job.output_bytes()};
    LOCUS_RETURN_IF_ERROR(CheckFlops(work.flops));
    const StopCheck stop = [this] { return caller_.Check(); };
    LOCUS_ASSIGN_OR_RETURN(const ComputeGate::Slot slot,
                           WaitForSlot(work, stop));
    const ComputeTimer timer(this, &work);
    return job.Run(state_.pool, stop);
  }

  // Adds the time it lives to the call's compute time, and learns from it what
  // such work takes, if that is known.
  class ComputeTimer {
   public:
    explicit ComputeTimer(Call* call, const Work* work = nullptr)
        : call_(*call),
          work_(work),
          exceptions_(std::uncaught_exceptions()),
          start_(Clock::now()) {}
    ~ComputeTimer();
    ComputeTimer(const ComputeTimer&) = delete;
    ComputeTimer& operator=(const ComputeTimer&) = delete;

   private:
    Call& call_;
    const Work* const work_;
    const int exceptions_;  // on their way when it began
    const Clock::time_point start_;
  };

  // The caller's deadline; the end of time if it has none.
  Clock::time_point deadline() const { return caller_.deadline(); }

  // UNAVAILABLE once the server drains.
  absl::Status CheckServing() const;
  // Adds to what the call had to wait.
  void CountWait(Clock::duration time) { queue_time_ += time; }
  // CANCELLED or DEADLINE_EXCEEDED once nobody waits for the answer. For any
  // thread.
  absl::Status CheckCaller() { return caller_.Check(); }
  // Ends the call from our side: whatever waits for the caller returns.
  void Cancel() { context_.TryCancel(); }
  // RESOURCE_EXHAUSTED if an answer of that size may not be sent.
  absl::Status CheckResponseBytes(int64_t bytes) const;
  // Counts a message that came or goes.
  void CountReceived(int64_t bytes);
  void CountSent(int64_t bytes);

  // Writes the trailing metadata, counts and logs. Called once, before the
  // status is sent, so that who has the answer finds it counted.
  grpc::Status Finish(const absl::Status& status);
  // Instead, if nobody is there to be answered.
  void EndUnanswered(const absl::Status& status);

 private:
  absl::Status CheckFlops(double flops) const;
  absl::Status ReserveForJob(int64_t output_bytes, int64_t scratch_bytes);
  absl::StatusOr<ComputeGate::Slot> WaitForSlot(const Work& work,
                                                const StopCheck& stop);
  // And logs.
  void Count(const absl::Status& status, grpc::StatusCode code);
  void Log(const absl::Status& status, grpc::StatusCode code) const;

  ServerState& state_;
  const MethodInfo& method_;
  grpc::ServerContext& context_;
  const Clock::time_point start_;
  CallerWatch caller_;
  const std::string request_id_;
  MemoryBudget::Reservation memory_;
  Clock::duration queue_time_{};
  Clock::duration compute_time_{};
  int64_t request_bytes_ = 0;
  int64_t response_bytes_ = 0;
};

}  // namespace locus::server
