#include "server/rpc/rpc_scope.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/shape.h"
#include "server/base/allocator.h"
#include "server/observability/log.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

// Only calls beyond this are worth a look at what the process holds.
constexpr int64_t kLargeCallBytes = int64_t{1} << 20;

int64_t Micros(std::chrono::steady_clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Call::Call(ServerState* state, const MethodInfo* method,
           grpc::ServerContext* context, Clock::time_point start)
    : state_(*state),
      method_(*method),
      context_(*context),
      start_(start),
      caller_(context),
      request_id_(RequestIdOf(*context)),
      memory_(&state->budget) {
  state_.calls.Enter();
  state_.metrics.in_flight_calls().Increment();
  method_.metrics.started->Increment();
}

Call::~Call() {
  if (std::max(memory_.bytes(), request_bytes_) >= kLargeCallBytes) {
    TrimFreedMemory();
  }
  state_.calls.Leave();
}

absl::Status Call::CheckServing() const {
  if (!state_.draining) return absl::OkStatus();
  return Shed(ShedReason::kDraining, "the server is shutting down");
}

void Call::CountReceived(int64_t bytes) {
  request_bytes_ += bytes;
  method_.metrics.messages_received->Increment();
}

void Call::CountSent(int64_t bytes) {
  response_bytes_ += bytes;
  method_.metrics.messages_sent->Increment();
}

absl::Status Call::CheckResponseBytes(int64_t bytes) const {
  const int64_t limit = state_.options.max_message_bytes;
  if (bytes <= limit) return absl::OkStatus();
  return LimitExceeded("response", "max_message_bytes",
                       absl::StrCat("would have ", bytes,
                                    " bytes; max_message_bytes is ", limit));
}

absl::Status Call::Reserve(int64_t bytes) {
  const int64_t limit = state_.options.max_call_bytes;
  if (limit < state_.budget.budget_bytes() && bytes > limit - memory_.bytes()) {
    return LimitExceeded(
        "request", "max_call_bytes",
        absl::StrCat("needs more than ", memory_.bytes(), " + ", bytes,
                     " bytes of memory; max_call_bytes is ", limit));
  }
  return memory_.Grow(bytes);
}

absl::Status Call::CheckFlops(double flops) const {
  const double limit = state_.options.max_call_flops;
  if (flops <= limit) return absl::OkStatus();
  return LimitExceeded(
      "request", "max_call_flops",
      absl::StrCat("needs ", flops,
                   " multiplications and additions; max_call_flops is ",
                   limit));
}

absl::Status Call::ReserveForJob(int64_t output_bytes, int64_t scratch_bytes) {
  LOCUS_RETURN_IF_ERROR(CheckResponseBytes(output_bytes));
  const auto bytes = CheckedAdd(output_bytes, scratch_bytes);
  return Reserve(bytes.value_or(std::numeric_limits<int64_t>::max()));
}

absl::StatusOr<ComputeGate::Slot> Call::WaitForSlot(const Work& work,
                                                    const StopCheck& stop) {
  LOCUS_RETURN_IF_ERROR(stop());
  const auto start = Clock::now();
  const double seconds = method_.cost.ExpectSeconds(work);
  if (IsTrivial(seconds)) {
    method_.habit.Forget();
  } else {
    method_.habit.Note(LaneOf(seconds));
  }
  auto slot = state_.gate.Enter({.seconds = seconds,
                                 .deadline = deadline(),
                                 .waited = Seconds(queue_time_)},
                                stop);
  queue_time_ += Clock::now() - start;
  method_.metrics.queue_seconds->Observe(Seconds(queue_time_));
  if (slot.ok()) state_.metrics.admitted_calls(LaneOf(seconds)).Increment();
  return slot;
}

Call::ComputeTimer::~ComputeTimer() {
  const Clock::duration time = Clock::now() - start_;
  call_.compute_time_ += time;
  // Who stopped early, or ran out of memory, took less than it would have.
  if (work_ != nullptr && call_.CheckCaller().ok() &&
      std::uncaught_exceptions() == exceptions_) {
    call_.method_.cost.Learn(*work_, Seconds(time));
  }
}

grpc::Status Call::Finish(const absl::Status& status) {
  const grpc::Status result = ToGrpcStatus(status);
  context_.AddTrailingMetadata("x-request-id", request_id_);
  context_.AddTrailingMetadata("locus-queue-us",
                               absl::StrCat(Micros(queue_time_)));
  context_.AddTrailingMetadata("locus-compute-us",
                               absl::StrCat(Micros(compute_time_)));
  if (ShedReasonOf(status) != nullptr) {
    context_.AddTrailingMetadata(
        "grpc-retry-pushback-ms",
        absl::StrCat(absl::ToInt64Milliseconds(RetryDelayOf(status))));
  }
  Count(status, result.error_code());
  return result;
}

void Call::EndUnanswered(const absl::Status& status) {
  Count(status, static_cast<grpc::StatusCode>(status.code()));
}

void Call::Count(const absl::Status& status, grpc::StatusCode code) {
  if (const ShedReason* reason = ShedReasonOf(status)) {
    state_.metrics.shed_calls(*reason).Increment();
  }
  method_.metrics.compute_seconds->Increment(Seconds(compute_time_));
  method_.metrics.handling_seconds->Observe(Seconds(Clock::now() - start_));
  method_.metrics.handled[code]->Increment();
  state_.metrics.in_flight_calls().Decrement();
  if (state_.options.log_calls) Log(status, code);
}

void Call::Log(const absl::Status& status, grpc::StatusCode code) const {
  const bool ours = code == grpc::INTERNAL || code == grpc::UNKNOWN;
  LogLine line(ours ? "error" : "info", "call");
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
