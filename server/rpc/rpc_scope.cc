#include "server/rpc/rpc_scope.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/shape.h"
#include "server/admission/rejection.h"
#include "server/base/allocator.h"
#include "server/base/printable.h"
#include "server/observability/log.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

// Calls that used at least this much memory return freed memory to the system
// when they end.
constexpr int64_t kLargeCallBytes = int64_t{1} << 20;

int64_t Micros(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

RpcScope::RpcScope(ServerState* state, MethodInfo* method,
                   grpc::ServerContext* context, Clock::time_point start)
    : state_(*state),
      method_(*method),
      context_(*context),
      start_(start),
      cancellation_(context),
      request_id_(RequestIdOf(*context)),
      memory_(&state->budget) {
  state_.calls.Enter();
  state_.metrics.in_flight_calls().Increment();
  method_.metrics.started->Increment();
}

RpcScope::~RpcScope() {
  if (std::max(memory_.bytes(), request_bytes_) >= kLargeCallBytes) {
    TrimFreedMemory();
  }
  state_.calls.Leave();
}

absl::Status RpcScope::CheckServing() const {
  if (!state_.draining) return absl::OkStatus();
  return Reject(RejectReason::kDraining, "the server is shutting down");
}

void RpcScope::CountReceived(int64_t bytes) {
  request_bytes_ += bytes;
  method_.metrics.messages_received->Increment();
}

void RpcScope::CountSent(int64_t bytes) {
  response_bytes_ += bytes;
  method_.metrics.messages_sent->Increment();
}

absl::Status RpcScope::CheckResponseBytes(int64_t bytes) const {
  const int64_t limit = state_.options.max_message_bytes;
  if (bytes <= limit) return absl::OkStatus();
  return LimitExceeded("response", "max_message_bytes",
                       absl::StrCat("would have ", bytes,
                                    " bytes; max_message_bytes is ", limit));
}

absl::Status RpcScope::Reserve(int64_t bytes) {
  const int64_t limit = state_.options.max_call_bytes;
  if (limit < state_.budget.budget_bytes() && bytes > limit - memory_.bytes()) {
    return LimitExceeded(
        "request", "max_call_bytes",
        absl::StrCat("needs more than ", memory_.bytes(), " + ", bytes,
                     " bytes of memory; max_call_bytes is ", limit));
  }
  return memory_.Grow(bytes);
}

absl::Status RpcScope::CheckFlops(double flops) const {
  const double limit = state_.options.max_call_flops;
  if (flops <= limit) return absl::OkStatus();
  return LimitExceeded(
      "request", "max_call_flops",
      absl::StrCat("needs ", flops,
                   " multiplications and additions; max_call_flops is ",
                   limit));
}

absl::Status RpcScope::ReserveForJob(int64_t output_bytes,
                                     int64_t scratch_bytes) {
  LOCUS_RETURN_IF_ERROR(CheckResponseBytes(output_bytes));
  const auto bytes = CheckedAdd(output_bytes, scratch_bytes);
  return Reserve(bytes.value_or(std::numeric_limits<int64_t>::max()));
}

absl::StatusOr<ConcurrencyLimiter::Slot> RpcScope::WaitForSlot(
    const Work& work, const CancellationCheck& stop) {
  LOCUS_RETURN_IF_ERROR(stop());
  const auto start = Clock::now();
  const double seconds = method_.cost.ExpectSeconds(work);
  if (IsTrivial(seconds)) {
    method_.cost_class_predictor.Reset();
  } else {
    method_.cost_class_predictor.Record(CostClassOf(seconds));
  }
  auto slot = state_.limiter.Enter({.seconds = seconds,
                                    .deadline = deadline(),
                                    .waited = ToSeconds(queue_time_)},
                                   stop);
  queue_time_ += Clock::now() - start;
  method_.metrics.queue_seconds->Observe(ToSeconds(queue_time_));
  if (slot.ok()) {
    state_.metrics.admitted_calls(CostClassOf(seconds)).Increment();
  }
  return slot;
}

RpcScope::ComputeTimer::~ComputeTimer() {
  const Clock::duration time = Clock::now() - start_;
  call_.compute_time_ += time;
  // Work that was cancelled, or ended by an exception, took less time than the
  // whole work would have.
  if (work_ != nullptr && call_.CheckCancellation().ok() &&
      std::uncaught_exceptions() == exceptions_) {
    call_.method_.cost.Learn(*work_, ToSeconds(time));
  }
}

grpc::Status RpcScope::Finish(const absl::Status& status) {
  const grpc::Status result = ToGrpcStatus(status);
  context_.AddTrailingMetadata("x-request-id", request_id_);
  context_.AddTrailingMetadata("locus-queue-us",
                               absl::StrCat(Micros(queue_time_)));
  context_.AddTrailingMetadata("locus-compute-us",
                               absl::StrCat(Micros(compute_time_)));
  if (RejectReasonOf(status) != nullptr) {
    context_.AddTrailingMetadata(
        "grpc-retry-pushback-ms",
        absl::StrCat(absl::ToInt64Milliseconds(RetryDelayOf(status))));
  }
  Record(status, result.error_code());
  return result;
}

void RpcScope::FinishCancelled(const absl::Status& status) {
  Record(status, static_cast<grpc::StatusCode>(status.code()));
}

void RpcScope::Record(const absl::Status& status, grpc::StatusCode code) {
  if (const RejectReason* reason = RejectReasonOf(status)) {
    state_.metrics.rejected_calls(*reason).Increment();
  }
  method_.metrics.compute_seconds->Increment(ToSeconds(compute_time_));
  method_.metrics.handling_seconds->Observe(ToSeconds(Clock::now() - start_));
  method_.metrics.handled[code]->Increment();
  state_.metrics.in_flight_calls().Decrement();
  if (state_.options.log_calls) Log(status, code);
}

void RpcScope::Log(const absl::Status& status, grpc::StatusCode code) const {
  const bool is_server_error = code == grpc::INTERNAL || code == grpc::UNKNOWN;
  LogLine line(is_server_error ? "error" : "info", "call");
  line.Add("method", method_.path)
      .Add("code", NameOf(code))
      .Add("request_id", request_id_);
  if (const std::string trace = TraceparentOf(context_); !trace.empty()) {
    line.Add("traceparent", trace);
  }
  line.Add("peer", context_.peer())
      .Add("queue_us", Micros(queue_time_))
      .Add("compute_us", Micros(compute_time_))
      .Add("total_us", Micros(Clock::now() - start_))
      .Add("request_bytes", request_bytes_)
      .Add("response_bytes", response_bytes_);
  if (!status.ok()) line.Add("error", Printable(status.message(), 1024));
  WriteLog(line);
}

}  // namespace locus::server
