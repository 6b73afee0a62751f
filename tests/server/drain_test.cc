// Graceful shutdown of a whole server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using ::testing::StartsWith;

// Length of an attention that is long enough to be observed in flight and short
// enough to wait for.
constexpr int64_t kLong = 4096;

HealthCheckRequest HealthOf(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

TEST(DrainTest, ReportsNotServingAndFinishesCallsInFlight) {
  TestServer server;
  grpc::ClientContext watch_context;
  const auto watch = server.health().Watch(
      &watch_context, HealthOf("locus.v1.AttentionService"));
  HealthCheckResponse health;
  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), HealthCheckResponse::SERVING);

  std::thread caller([&] {
    grpc::ClientContext context;
    v1::AttendResponse response;
    const grpc::Status status =
        server.attention().Attend(&context, SlowAttend(kLong), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_started_total{grpc_method=\"Attend\"",
                         [](double calls) { return calls == 1; }));
  std::thread shutdown([&] { server.server().Shutdown(); });
  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_THAT(server.Get("/readyz"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(server.Get("/healthz"), StartsWith("HTTP/1.1 200"));
  caller.join();
  shutdown.join();
  EXPECT_FALSE(watch->Read(&health));
}

TEST(DrainTest, RejectsNewCalls) {
  TestServer server;
  // This call keeps the drain from ending before the new call arrives.
  grpc::ClientContext slow_context;
  std::thread caller([&] {
    v1::AttendResponse response;
    server.attention().Attend(&slow_context, SlowAttend(kVeryLong), &response);
  });
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_started_total{grpc_method=\"Attend\"",
                         [](double calls) { return calls == 1; }));
  std::thread shutdown([&] { server.server().Shutdown(); });
  while (server.Get("/readyz").find("503") == std::string::npos) {
    std::this_thread::yield();
  }
  grpc::ClientContext context;
  v1::ListSchemesResponse response;
  const grpc::Status status =
      server.encoding().ListSchemes(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::UNAVAILABLE);
  const ErrorDetails details = DetailsOf(status);
  ASSERT_TRUE(details.info && details.retry);
  EXPECT_EQ(details.info->reason(), "DRAINING");
  slow_context.TryCancel();
  caller.join();
  shutdown.join();
}

TEST(DrainTest, CancelsCallsAfterTheGracePeriod) {
  ServerOptions options = TestOptions();
  options.grace_seconds = 0.05;
  TestServer server(options);
  std::thread caller([&] {
    grpc::ClientContext context;
    v1::AttendResponse response;
    EXPECT_FALSE(server.attention()
                     .Attend(&context, SlowAttend(kVeryLong), &response)
                     .ok());
  });
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_started_total{grpc_method=\"Attend\"",
                         [](double calls) { return calls == 1; }));
  const auto start = std::chrono::steady_clock::now();
  server.server().Shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  caller.join();
}

TEST(DrainTest, DoesNotWaitForIdleWatchers) {
  TestServer server;
  grpc::ClientContext context;
  const auto watch = server.health().Watch(&context, HealthOf(""));
  HealthCheckResponse health;
  ASSERT_TRUE(watch->Read(&health));
  const auto start = std::chrono::steady_clock::now();
  server.server().Shutdown();
  server.server().Shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace locus::server
