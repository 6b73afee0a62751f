// Health checks over real connections.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/health.h"
#include "tests/support/test_server.h"

namespace locus::server {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

HealthCheckRequest HealthOf(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

TEST(HealthTest, AllServicesAreServing) {
  TestServer server;
  for (const char* service :
       {"", "locus.v1.EncodingService", "locus.v1.AttentionService",
        "locus.v1.EvaluationService"}) {
    grpc::ClientContext context;
    HealthCheckResponse response;
    EXPECT_TRUE(
        server.health().Check(&context, HealthOf(service), &response).ok());
    EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  }
}

TEST(HealthTest, UnknownServicesAreNotFound) {
  TestServer server;
  grpc::ClientContext context;
  HealthCheckResponse response;
  EXPECT_EQ(server.health()
                .Check(&context, HealthOf("no.such.Service"), &response)
                .error_code(),
            grpc::NOT_FOUND);
}

TEST(HealthTest, WatchReportsUnknownServices) {
  TestServer server;
  grpc::ClientContext context;
  const auto watch =
      server.health().Watch(&context, HealthOf("no.such.Service"));
  HealthCheckResponse health;
  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
  EXPECT_EQ(watch->Finish().error_code(), grpc::CANCELLED);
}

TEST(HealthTest, WatchRejectsLongNames) {
  TestServer server;
  grpc::ClientContext context;
  const auto watch =
      server.health().Watch(&context, HealthOf(std::string(201, 'x')));
  HealthCheckResponse health;
  EXPECT_FALSE(watch->Read(&health));
  EXPECT_EQ(watch->Finish().error_code(), grpc::INVALID_ARGUMENT);
}

TEST(HealthTest, WatchCallsAreBounded) {
  ServerOptions options = TestOptions();
  options.max_streams = Health::kMaxWatches + 1;
  TestServer server(options);
  struct Watcher {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> stream;
  };
  const auto watch = [&] {
    auto watcher = std::make_unique<Watcher>();
    // Ends a call that should have been rejected.
    watcher->context.set_deadline(std::chrono::system_clock::now() +
                                  std::chrono::seconds(20));
    watcher->stream = server.health().Watch(&watcher->context, HealthOf(""));
    return watcher;
  };
  HealthCheckResponse health;
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < Health::kMaxWatches; ++i) {
    watchers.push_back(watch());
    ASSERT_TRUE(watchers.back()->stream->Read(&health));
  }
  const auto rejected = watch();
  while (rejected->stream->Read(&health)) {
  }
  EXPECT_EQ(rejected->stream->Finish().error_code(), grpc::RESOURCE_EXHAUSTED);
  watchers.back()->context.TryCancel();
  EXPECT_EQ(watchers.back()->stream->Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(server.AwaitMetric(
      "locus_open_streams{service=\"grpc.health.v1.Health\"}",
      [](double open) { return open == Health::kMaxWatches - 1; }));
  const auto accepted = watch();
  EXPECT_TRUE(accepted->stream->Read(&health));
  for (const auto& watcher : watchers) watcher->context.TryCancel();
  accepted->context.TryCancel();
}

// A third of the watchers cancels at once, a third when the server drains, and
// a third stays until the server closes the stream.
TEST(HealthTest, ManyWatchersEndConcurrently) {
  TestServer server;
  std::vector<std::thread> watchers;
  std::atomic<int> serving_count = 0;
  for (int i = 0; i < 60; ++i) {
    watchers.emplace_back([&, i] {
      grpc::ClientContext context;
      const auto watch = server.health().Watch(&context, HealthOf(""));
      HealthCheckResponse health;
      if (i % 3 == 0) {
        context.TryCancel();
      } else {
        EXPECT_TRUE(watch->Read(&health));
        EXPECT_EQ(health.status(), HealthCheckResponse::SERVING);
        ++serving_count;
        EXPECT_TRUE(watch->Read(&health));
        EXPECT_EQ(health.status(), HealthCheckResponse::NOT_SERVING);
        if (i % 3 == 1) context.TryCancel();
      }
      while (watch->Read(&health)) {
      }
      EXPECT_FALSE(watch->Finish().ok());
    });
  }
  while (serving_count < 40) std::this_thread::yield();
  server.server().Shutdown();
  for (std::thread& watcher : watchers) watcher.join();
}

}  // namespace
}  // namespace locus::server
