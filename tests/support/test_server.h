// A server within the test process, and helpers for calls to it.
#pragma once

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "locus/v1/attention.grpc.pb.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "locus/v1/evaluation.grpc.pb.h"
#include "server/server.h"

namespace locus::server {

// Options for tests: free ports, two threads, no log of calls, evaluations at
// normal priority.
ServerOptions TestOptions();

// A server on loopback, with a channel and a stub for each of its services. A
// server that does not start fails the test. The destructor shuts it down.
class TestServer {
 public:
  explicit TestServer(const ServerOptions& options = TestOptions(),
                      MakeEvaluation make_evaluation = MakeCoreEvaluation);

  Server& server() { return *server_; }
  v1::EncodingService::Stub& encoding() { return *encoding_; }
  v1::AttentionService::Stub& attention() { return *attention_; }
  v1::EvaluationService::Stub& evaluation() { return *evaluation_; }
  grpc::health::v1::Health::Stub& health() { return *health_; }
  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }

  // The whole response to GET `path` on the HTTP port, headers and body.
  std::string Get(const std::string& path);
  // The value of the first line of /metrics that begins with `series`; -1 if
  // there is none.
  double Metric(const std::string& series);
  // Waits until a metric satisfies `condition`; false after ten seconds.
  bool AwaitMetric(const std::string& series,
                   const std::function<bool(double)>& condition);

 private:
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::EncodingService::Stub> encoding_;
  std::unique_ptr<v1::AttentionService::Stub> attention_;
  std::unique_ptr<v1::EvaluationService::Stub> evaluation_;
  std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

// Sends `request` to a port on loopback, and returns everything received until
// the server closes the connection.
std::string Exchange(int port, const std::string& request);

// The value of a key of the trailing metadata; empty if there is none.
std::string Trailer(const grpc::ClientContext& context, const char* key);

// The google.rpc details of an error status.
struct ErrorDetails {
  google::rpc::Status status;
  std::optional<google::rpc::ErrorInfo> info;
  std::optional<google::rpc::BadRequest> bad_request;
  std::optional<google::rpc::QuotaFailure> quota;
  std::optional<google::rpc::RetryInfo> retry;
};
ErrorDetails DetailsOf(const grpc::Status& status);

// Calls Encode with bytes instead of a message.
grpc::Status CallWithBytes(const std::string& wire,
                           grpc_compression_algorithm compression,
                           TestServer& server);

// A FLOAT32 tensor of zeros.
v1::Tensor Zeros(const std::vector<int64_t>& shape);

// A request for attention over one head and `length` tokens. With kVeryLong
// tokens it takes seconds on any machine.
v1::AttendRequest SlowAttend(int64_t length);
inline constexpr int64_t kVeryLong = 65536;

}  // namespace locus::server
