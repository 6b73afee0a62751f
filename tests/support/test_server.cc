#include "tests/support/test_server.h"

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace locus::server {

ServerOptions TestOptions() {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.http = "127.0.0.1:0";
  options.threads = 2;
  options.log_calls = false;
  // At low priority, tests would wait for other processes of the machine.
  options.background_evaluations = false;
  return options;
}

TestServer::TestServer(const ServerOptions& options,
                       MakeEvaluation make_evaluation) {
  auto server = Server::Start(options, std::move(make_evaluation));
  if (!server.ok()) {
    ADD_FAILURE() << server.status();
    return;
  }
  server_ = *std::move(server);
  channel_ =
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->grpc_port()),
                          grpc::InsecureChannelCredentials());
  encoding_ = v1::EncodingService::NewStub(channel_);
  attention_ = v1::AttentionService::NewStub(channel_);
  evaluation_ = v1::EvaluationService::NewStub(channel_);
  health_ = grpc::health::v1::Health::NewStub(channel_);
}

std::string TestServer::Get(const std::string& path) {
  return Exchange(server_->http_port(),
                  absl::StrCat("GET ", path,
                               " HTTP/1.1\r\nHost: x\r\n"
                               "Connection: close\r\n\r\n"));
}

double TestServer::Metric(const std::string& series) {
  const std::string text = Get("/metrics");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, series)) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    double value = -1;
    if (absl::SimpleAtod(parts.back(), &value)) return value;
  }
  return -1;
}

bool TestServer::AwaitMetric(const std::string& series,
                             const std::function<bool(double)>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (condition(Metric(series))) return true;
    std::this_thread::yield();
  }
  return false;
}

std::string Exchange(int port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string response;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
      0) {
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t n; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
      response.append(buffer, n);
    }
  }
  close(fd);
  return response;
}

std::string Trailer(const grpc::ClientContext& context, const char* key) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(key);
  if (found == metadata.end()) return "";
  return {found->second.data(), found->second.size()};
}

ErrorDetails DetailsOf(const grpc::Status& status) {
  ErrorDetails details;
  details.status.ParseFromString(status.error_details());
  for (const auto& any : details.status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad_request;
    google::rpc::QuotaFailure quota;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&info)) details.info = info;
    if (any.UnpackTo(&bad_request)) details.bad_request = bad_request;
    if (any.UnpackTo(&quota)) details.quota = quota;
    if (any.UnpackTo(&retry)) details.retry = retry;
  }
  return details;
}

grpc::Status CallWithBytes(const std::string& wire,
                           grpc_compression_algorithm compression,
                           TestServer& server) {
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  context.set_compression_algorithm(compression);
  grpc::Slice slice(wire);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::CompletionQueue queue;
  grpc::Status status;
  const auto call = stub.PrepareUnaryCall(
      &context, "/locus.v1.EncodingService/Encode", request, &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

v1::Tensor Zeros(const std::vector<int64_t>& shape) {
  v1::Tensor tensor;
  tensor.set_dtype(v1::DATA_TYPE_FLOAT32);
  int64_t count = 1;
  for (const int64_t extent : shape) {
    tensor.add_shape(extent);
    count *= extent;
  }
  tensor.set_data(std::string(count * sizeof(float), '\0'));
  return tensor;
}

v1::AttendRequest SlowAttend(int64_t length) {
  v1::AttendRequest request;
  request.mutable_scheme()->mutable_none();
  *request.mutable_heads()->mutable_q() = Zeros({1, 1, length, 8});
  *request.mutable_heads()->mutable_k() = Zeros({1, 1, length, 8});
  *request.mutable_heads()->mutable_v() = Zeros({1, 1, length, 8});
  return request;
}

}  // namespace locus::server
