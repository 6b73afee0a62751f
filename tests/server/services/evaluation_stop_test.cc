// Evaluations that end early: cancellation, deadlines, slow clients, shutdown.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "server/base/clock.h"
#include "tests/support/evaluation_testing.h"

namespace locus::server {
namespace {

TEST(EvaluationStopTest, StopsWhenCancelled) {
  std::atomic<bool> ended = false;
  const FakeEvaluationJob job{.run = [&](ThreadPool& pool,
                                         const CancellationCheck& stop,
                                         EvaluationSink& sink) {
    auto summary = RunUntilStopped(pool, stop, sink);
    EXPECT_TRUE(absl::IsCancelled(summary.status())) << summary.status();
    ended = true;
    return summary;
  }};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  StartedCall call(server);
  ASSERT_TRUE(call.has_started);
  const auto start = Clock::now();
  call.context.TryCancel();
  EXPECT_TRUE(AwaitRunningEvaluations(server, 0));
  EXPECT_TRUE(ended);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_handled_total{grpc_code=\"CANCELLED\","
                         "grpc_method=\"EvaluateExtrapolation\"",
                         [](double calls) { return calls == 1; }));
}

TEST(EvaluationStopTest, SendsPartialSummaryBeforeDeadline) {
  const FakeEvaluationJob job{.run = RunUntilStopped};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(2));
  const EvaluateResult result = Evaluate(server, &context, PatternRequest());
  EXPECT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_TRUE(result.summary().partial());
  EXPECT_EQ(nlohmann::json::parse(result.summary().manifest_json())["partial"],
            true);
}

TEST(EvaluationStopTest, SlowClientsApplyBackpressure) {
  constexpr int64_t kCellBytes = 1 << 20;
  constexpr int kCells = 500;
  std::atomic<int> cells = 0;
  const FakeEvaluationJob job{
      .run = [&](ThreadPool&, const CancellationCheck& stop,
                 EvaluationSink& sink) -> absl::StatusOr<EvaluationSummary> {
        for (; cells < kCells; ++cells) {
          if (const absl::Status status = stop(); !status.ok()) {
            return ResultWhenStopped(status);
          }
          sink.OnCell(MakeCell(kCellBytes));
        }
        return EvaluationSummary();
      }};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  grpc::ClientContext context;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  ASSERT_TRUE(AwaitRunningEvaluations(server, 1));
  // Wait until the evaluation makes no progress for 200 HTTP requests.
  int before = -1, unchanged = 0;
  while (unchanged < 200) {
    server.Get("/healthz");
    unchanged = cells == before ? unchanged + 1 : 0;
    before = cells;
  }
  EXPECT_LT(cells, kCells / 4);
  const auto start = Clock::now();
  context.TryCancel();
  EXPECT_TRUE(AwaitRunningEvaluations(server, 0));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
}

TEST(EvaluationStopTest, SendsPartialSummaryAtEndOfGracePeriod) {
  const FakeEvaluationJob job{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.grace_seconds = 1;
  TestServer server(options, MakeFakeEvaluation(&job));
  StartedCall call(server);
  ASSERT_TRUE(call.has_started);
  const auto start = Clock::now();
  std::thread shutdown([&] { server.server().Shutdown(); });
  while (server.Get("/readyz").find("503") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Evaluate(server).status.error_code(), grpc::UNAVAILABLE);
  ASSERT_TRUE(call.reader->Read(&call.event));
  EXPECT_TRUE(call.event.summary().partial());
  EXPECT_TRUE(call.reader->Finish().ok());
  shutdown.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace locus::server
