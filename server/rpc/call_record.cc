#include "server/rpc/call_record.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/admission/rejection.h"
#include "server/base/printable.h"
#include "server/observability/log.h"
#include "server/rpc/call_metadata.h"
#include "server/rpc/status.h"

namespace locus::server {
namespace {

int64_t Micros(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

CallRecord::CallRecord(Metrics* metrics, const MethodInfo* method,
                       grpc::ServerContext* context, Clock::time_point start)
    : metrics_(*metrics),
      method_(*method),
      context_(*context),
      start_(start),
      request_id_(RequestIdOf(*context)) {
  metrics_.in_flight_calls().Increment();
  method_.metrics.started->Increment();
}

void CallRecord::OnCompute(CostClass cost_class) {
  method_.metrics.queue_seconds->Observe(ToSeconds(queue_time_));
  metrics_.admitted_calls(cost_class).Increment();
}

void CallRecord::CountReceived(int64_t bytes) {
  request_bytes_ += bytes;
  method_.metrics.messages_received->Increment();
}

void CallRecord::CountSent(int64_t bytes) {
  response_bytes_ += bytes;
  method_.metrics.messages_sent->Increment();
}

void CallRecord::AddTrailers(const absl::Status& status) {
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
}

grpc::Status CallRecord::Finish(const absl::Status& status, bool log) {
  const grpc::Status result = ToGrpcStatus(status);
  AddTrailers(status);
  Record(status, result.error_code(), log);
  return result;
}

void CallRecord::FinishCancelled(const absl::Status& status, bool log) {
  Record(status, static_cast<grpc::StatusCode>(status.code()), log);
}

void CallRecord::Record(const absl::Status& status, grpc::StatusCode code,
                        bool log) {
  if (const RejectReason* reason = RejectReasonOf(status)) {
    metrics_.rejected_calls(*reason).Increment();
  }
  method_.metrics.compute_seconds->Increment(ToSeconds(compute_time_));
  method_.metrics.handling_seconds->Observe(ToSeconds(Clock::now() - start_));
  method_.metrics.handled[code]->Increment();
  metrics_.in_flight_calls().Decrement();
  if (log) WriteLogLine(status, code);
}

void CallRecord::WriteLogLine(const absl::Status& status,
                              grpc::StatusCode code) const {
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
