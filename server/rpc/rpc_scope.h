// The scope of one call, as its handler sees it.
#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/parallel/cancellation.h"
#include "server/admission/cost_estimator.h"
#include "server/admission/memory_budget.h"
#include "server/base/clock.h"
#include "server/net/connection_guard.h"
#include "server/rpc/call_record.h"
#include "server/rpc/cancellation_watch.h"
#include "server/rpc/server_state.h"
#include "server/rpc/wire/response.h"

namespace locus::server {

// The result of preparing a call: its cost, and its computation, which may run
// later, on another thread, or not at all. The request outlives it.
template <typename Out>
struct Computation {
  Work work;
  absl::AnyInvocable<absl::Status(Response<Out>*)> run;
};

// Limits, memory and cancellation of one call. Holds the memory reservation
// until it is destroyed. Thread-compatible, except for CheckCancellation() and
// Cancel(), which are thread-safe.
class RpcScope {
 public:
  // `start` is the time at which the call arrived. The pointers must outlive
  // the scope.
  RpcScope(ServerState* state, const MethodInfo* method,
           grpc::ServerContext* context, const GuardedConnection* connection,
           Clock::time_point start);
  ~RpcScope();
  RpcScope(const RpcScope&) = delete;
  RpcScope& operator=(const RpcScope&) = delete;

  const ServerOptions& options() const { return state_.options; }
  CallRecord& record() { return record_; }

  // Reserves `bytes` more until the scope is destroyed. RESOURCE_EXHAUSTED if
  // the call can never have that much memory, UNAVAILABLE if other calls hold
  // it.
  absl::Status Reserve(int64_t bytes);

  // Prepares a job of core: checks its size against the limits, and reserves
  // its memory. The computation runs it on the compute threads and passes the
  // result to `finish(result, Response<Out>*)`.
  template <typename Out, typename Job, typename Finish>
  absl::StatusOr<Computation<Out>> Prepare(Job job, Finish finish) {
    LOCUS_RETURN_IF_ERROR(ReserveForJob(
        job.output_bytes(), job.scratch_bytes(state_.pool.thread_count())));
    const Work work{job.flops(), job.output_bytes()};
    LOCUS_RETURN_IF_ERROR(CheckFlops(work.flops));
    return Computation<Out>{
        work,
        [this, job = std::move(job),
         finish = std::move(finish)](Response<Out>* response) -> absl::Status {
          const CancellationCheck stop = [this] { return CheckCancellation(); };
          LOCUS_RETURN_IF_ERROR(stop());
          LOCUS_ASSIGN_OR_RETURN(auto result, job.Run(state_.pool, stop));
          finish(std::move(result), response);
          return absl::OkStatus();
        }};
  }

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

 private:
  absl::Status CheckFlops(double flops) const;
  absl::Status ReserveForJob(int64_t output_bytes, int64_t scratch_bytes);

  ServerState& state_;
  grpc::ServerContext& context_;
  const GuardedConnection& connection_;
  CallRecord record_;
  CancellationWatch cancellation_;
  MemoryBudget::Reservation memory_;
};

}  // namespace locus::server
