#include "server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::EncodeRequest RopeRequest() {
  v1::EncodeRequest request;
  request.mutable_scheme()->mutable_rope();
  request.mutable_positions()->mutable_range()->set_count(3);
  request.set_dim(4);
  return request;
}

TEST(ServerTest, EncodesOverTcp) {
  TestServer server;
  grpc::ClientContext context;
  v1::EncodeResponse response;
  const grpc::Status status =
      server.encoding().Encode(&context, RopeRequest(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.rotation().cos().shape(0), 3);
  EXPECT_EQ(response.rotation().frequencies(0), 1);
  EXPECT_EQ(response.rotation().attention_factor(), 1);
}

TEST(ServerTest, AttendsOverWords) {
  TestServer server;
  v1::AttendRequest request;
  request.mutable_scheme()->mutable_sinusoidal();
  for (const char* word : {"the", "cat", "sat"}) {
    request.mutable_module()->add_tokens(word);
  }
  request.mutable_options()->set_return_weights(true);
  grpc::ClientContext context;
  v1::AttendResponse response;
  const grpc::Status status =
      server.attention().Attend(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.output().shape(2), 64);
  EXPECT_EQ(response.weights().shape(3), 3);
}

TEST(ServerTest, ListsEveryScheme) {
  TestServer server;
  grpc::ClientContext context;
  v1::ListSchemesResponse response;
  ASSERT_TRUE(server.encoding().ListSchemes(&context, {}, &response).ok());
  EXPECT_EQ(response.schemes_size(),
            v1::Scheme::descriptor()->FindOneofByName("kind")->field_count());
  for (const auto& scheme : response.schemes()) {
    EXPECT_NE(scheme.acts_on(), v1::SCHEME_SITE_UNSPECIFIED);
    EXPECT_EQ(scheme.promises_size(), 13);
    EXPECT_NE(scheme.title(), "");
  }
}

TEST(ServerTest, ServesInProcessWithoutPorts) {
  ServerOptions options = TestOptions();
  options.listen = "";
  options.http = "";
  const auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->grpc_port(), 0);
  EXPECT_EQ((*server)->http_port(), 0);
  const auto stub = v1::EncodingService::NewStub(
      (*server)->InProcessChannel(grpc::ChannelArguments()));
  grpc::ClientContext context;
  v1::EncodeResponse response;
  EXPECT_TRUE(stub->Encode(&context, RopeRequest(), &response).ok());
}

TEST(ServerTest, ReportsInvalidOptionsAndPortsInUse) {
  TestServer server;
  ServerOptions options = TestOptions();
  options.listen = absl::StrCat("127.0.0.1:", server.server().grpc_port());
  const auto port_in_use = Server::Start(options);
  EXPECT_THAT(std::string(port_in_use.status().message()),
              HasSubstr("Address already in use"));
  options.listen = "nonsense";
  EXPECT_THAT(std::string(Server::Start(options).status().message()),
              HasSubstr("--listen"));
  options = TestOptions();
  options.http = absl::StrCat("127.0.0.1:", server.server().http_port());
  EXPECT_THAT(std::string(Server::Start(options).status().message()),
              HasSubstr("Address already in use"));
}

TEST(ServerTest, EveryResponseHasRequestIdAndTimes) {
  TestServer server;
  for (const bool good : {true, false}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", "my-id");
    v1::EncodeResponse response;
    server.encoding().Encode(
        &context, good ? RopeRequest() : v1::EncodeRequest(), &response);
    EXPECT_EQ(Trailer(context, "x-request-id"), "my-id");
    int64_t micros = -1;
    EXPECT_TRUE(absl::SimpleAtoi(Trailer(context, "locus-queue-us"), &micros));
    EXPECT_GE(micros, 0);
    EXPECT_TRUE(
        absl::SimpleAtoi(Trailer(context, "locus-compute-us"), &micros));
  }
}

TEST(ServerTest, ReplacesInvalidRequestIds) {
  TestServer server;
  for (const std::string& id :
       {std::string(), std::string("has space"), std::string(129, 'x')}) {
    grpc::ClientContext context;
    context.AddMetadata("x-request-id", id);
    v1::EncodeResponse response;
    server.encoding().Encode(&context, RopeRequest(), &response);
    const std::string made = Trailer(context, "x-request-id");
    EXPECT_EQ(made.size(), 32u);
    EXPECT_NE(made, id);
  }
}

TEST(ServerTest, CountsEveryOutcome) {
  TestServer server;
  const std::string labels =
      "{grpc_method=\"Encode\",grpc_service=\"locus.v1.EncodingService\","
      "grpc_type=\"unary\"} ";
  for (const auto& request : {RopeRequest(), v1::EncodeRequest()}) {
    grpc::ClientContext context;
    v1::EncodeResponse response;
    server.encoding().Encode(&context, request, &response);
  }
  EXPECT_EQ(server.Metric("grpc_server_started_total" + labels), 2);
  EXPECT_EQ(server.Metric("grpc_server_msg_received_total" + labels), 2);
  EXPECT_EQ(server.Metric("grpc_server_msg_sent_total" + labels), 1);
  for (const char* code : {"OK", "INVALID_ARGUMENT"}) {
    EXPECT_EQ(
        server.Metric(absl::StrCat("grpc_server_handled_total{grpc_code=\"",
                                   code, "\",grpc_method=\"Encode\"")),
        1);
  }
  const std::string text = server.Get("/metrics");
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("le=\"1e-05\""), HasSubstr("locus_build_info{commit=\""),
            HasSubstr("process_resident_memory_bytes"),
            HasSubstr("locus_rejected_calls_total{reason=\"memory\"} "
                      "0")));
  EXPECT_EQ(server.Metric("locus_in_flight_calls"), 0);
  EXPECT_GT(server.Metric("locus_memory_budget_bytes"), 0);
  EXPECT_EQ(server.Metric("locus_slots"), 2);
}

// Opens the connection, so that the deadline of a later call does not include
// the handshake.
void Connect(TestServer& server) {
  grpc::ClientContext context;
  v1::ListSchemesResponse response;
  EXPECT_TRUE(server.encoding().ListSchemes(&context, {}, &response).ok());
}

TEST(ServerTest, RejectsCallsThatCannotMeetTheirDeadline) {
  TestServer server;
  Connect(server);
  // A server with two threads expects at least 13 s.
  const v1::AttendRequest request = SlowAttend(131072);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(1));
  v1::AttendResponse response;
  const grpc::Status status =
      server.attention().Attend(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  EXPECT_TRUE(DetailsOf(status).retry.has_value());
}

TEST(ServerTest, StopsComputingAtTheDeadline) {
  ServerOptions options = TestOptions();
  options.threads = 1;
  TestServer server(options);
  Connect(server);
  // The call takes longer than its deadline on any machine. The server expects
  // 6.9 s but is sure of a tenth of that only, so it does not reject the call.
  const v1::AttendRequest request = SlowAttend(65536);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(1100));
  v1::AttendResponse response;
  const grpc::Status status =
      server.attention().Attend(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double calls) { return calls == 0; }));
  EXPECT_TRUE(server.AwaitMetric("locus_memory_reserved_bytes",
                                 [](double bytes) { return bytes == 0; }));
}

TEST(ServerTest, RejectsOverloadAndStaysHealthy) {
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 1;
  options.max_queue_seconds = 3600;
  TestServer server(options);
  const v1::AttendRequest request = SlowAttend(kVeryLong);
  grpc::ClientContext contexts[2];
  std::thread callers[2];
  const auto start = [&](int i) {
    callers[i] = std::thread([&, i] {
      v1::AttendResponse response;
      const grpc::Status status =
          server.attention().Attend(&contexts[i], request, &response);
      EXPECT_EQ(status.error_code(), grpc::CANCELLED);
    });
  };
  // The first call computes before the second arrives: a call also counts as
  // queued for a moment on its way to a worker.
  start(0);
  EXPECT_TRUE(server.AwaitMetric("locus_computing_calls{cost_class=\"long\"}",
                                 [](double calls) { return calls == 1; }));
  start(1);
  EXPECT_TRUE(server.AwaitMetric("locus_queued_calls{cost_class=\"long\"}",
                                 [](double calls) { return calls == 1; }));
  grpc::ClientContext rejected;
  v1::AttendResponse response;
  const grpc::Status status =
      server.attention().Attend(&rejected, request, &response);
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(
      rejected.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1);
  // Short calls do not wait for long calls.
  grpc::ClientContext short_context;
  v1::EncodeResponse encoded;
  EXPECT_TRUE(
      server.encoding().Encode(&short_context, RopeRequest(), &encoded).ok());
  const ErrorDetails details = DetailsOf(status);
  ASSERT_TRUE(details.info && details.retry);
  EXPECT_EQ(details.info->reason(), "OVERLOADED");
  EXPECT_EQ(server.Metric("locus_rejected_calls_total{reason=\"queue_full\"}"),
            1);

  grpc::ClientContext check;
  grpc::health::v1::HealthCheckResponse health;
  EXPECT_TRUE(server.health().Check(&check, {}, &health).ok());
  EXPECT_THAT(server.Get("/readyz"), StartsWith("HTTP/1.1 200"));
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(server.AwaitMetric("locus_in_flight_calls",
                                 [](double calls) { return calls == 0; }));
}

}  // namespace
}  // namespace locus::server
