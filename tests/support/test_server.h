// A real server on free ports, and what tests ask of it.
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

// Free ports, no log, evaluations at the usual priority.
ServerOptions TestOptions();

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

  // The whole answer to GET `path`, head and body.
  std::string Get(const std::string& path);
  // The value of a line of /metrics that begins with `series`; -1 if there is
  // none.
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

// What a server on loopback answers to `request`, until it closes.
std::string Exchange(int port, const std::string& request);

// A value of the trailing metadata; empty if there is none.
std::string Trailer(const grpc::ClientContext& context, const char* key);

// The google.rpc details of an error.
struct ErrorDetails {
  google::rpc::Status status;
  std::optional<google::rpc::ErrorInfo> info;
  std::optional<google::rpc::BadRequest> bad_request;
  std::optional<google::rpc::QuotaFailure> quota;
  std::optional<google::rpc::RetryInfo> retry;
};
ErrorDetails DetailsOf(const grpc::Status& status);

// One call of Encode with bytes instead of a message.
grpc::Status CallWithBytes(const std::string& wire,
                           grpc_compression_algorithm compression,
                           TestServer& server);

// Zeros of FLOAT32.
v1::Tensor Zeros(const std::vector<int64_t>& shape);

// Attention that takes seconds on any machine: one head, `length` tokens.
v1::AttendRequest SlowAttend(int64_t length);
inline constexpr int64_t kVeryLong = 65536;

}  // namespace locus::server
