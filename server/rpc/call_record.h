// The record of one call: its trailers, metrics and log line.
#pragma once

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/observability/metrics.h"

namespace locus::server {

// A method of a service.
struct MethodInfo {
  std::string path;  // "/locus.v1.EncodingService/Encode"
  MethodMetrics metrics;
};

// Thread-compatible. Counts the call in progress until Finish().
class CallRecord {
 public:
  // `start` is the time at which the call arrived. `metrics`, `method` and
  // `context` must outlive the record.
  CallRecord(Metrics* metrics, const MethodInfo* method,
             grpc::ServerContext* context, Clock::time_point start);
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;

  // Adds to the time that the call has spent queued or computing.
  void AddQueueTime(Clock::duration time) { queue_time_ += time; }
  void AddComputeTime(Clock::duration time) { compute_time_ += time; }
  // The call starts to compute, in that class.
  void OnCompute(CostClass cost_class);
  // Counts one message and its bytes.
  void CountReceived(int64_t bytes);
  void CountSent(int64_t bytes);
  int64_t request_bytes() const { return request_bytes_; }

  // Sets the trailing metadata of a call that ends with this status. Finish()
  // does so as well.
  void AddTrailers(const absl::Status& status);
  // Ends the call: sets the trailing metadata, updates the metrics, writes the
  // log line if `log` is true, and returns the status to send. Call either
  // Finish() or FinishCancelled(), once. Call it before the status is sent, so
  // that a client that has its response finds the call in the metrics.
  grpc::Status Finish(const absl::Status& status, bool log);
  // Same as Finish(), for a call that has ended before a response was sent.
  void FinishCancelled(const absl::Status& status, bool log);

 private:
  void Record(const absl::Status& status, grpc::StatusCode code, bool log);
  void WriteLogLine(const absl::Status& status, grpc::StatusCode code) const;

  Metrics& metrics_;
  const MethodInfo& method_;
  grpc::ServerContext& context_;
  const Clock::time_point start_;
  const std::string request_id_;
  Clock::duration queue_time_{};
  Clock::duration compute_time_{};
  int64_t request_bytes_ = 0;
  int64_t response_bytes_ = 0;
};

}  // namespace locus::server
