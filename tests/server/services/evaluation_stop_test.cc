// The ends of evaluations that do not come to theirs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/evaluation_testing.h"

namespace locus::server {
namespace {

using Clock = std::chrono::steady_clock;

TEST(EvaluationStopTest, CancellingEndsTheWork) {
  std::atomic<bool> ended = false;
  const Script script{.run = [&](ThreadPool& pool, const StopCheck& stop,
                                 EvaluationSink& sink) {
    auto summary = RunUntilStopped(pool, stop, sink);
    EXPECT_TRUE(absl::IsCancelled(summary.status())) << summary.status();
    ended = true;
    return summary;
  }};
  TestServer server(TestOptions(), Fake(&script));
  BegunCall call(server);
  ASSERT_TRUE(call.has_begun);
  const auto start = Clock::now();
  call.context.TryCancel();
  EXPECT_TRUE(AwaitRunning(server, 0));
  EXPECT_TRUE(ended);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(call.reader->Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_handled_total{grpc_code=\"CANCELLED\","
                         "grpc_method=\"EvaluateExtrapolation\"",
                         [](double calls) { return calls == 1; }));
}

TEST(EvaluationStopTest, ADeadlineEndsItWithWhatIsFinished) {
  const Script script{.run = RunUntilStopped};
  TestServer server(TestOptions(), Fake(&script));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(2));
  const Answer answer = Evaluate(server, &context, PatternRequest());
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.summary().partial());
  EXPECT_EQ(nlohmann::json::parse(answer.summary().manifest_json())["partial"],
            true);
}

TEST(EvaluationStopTest, ASlowReaderHoldsItUpInBoundedMemory) {
  constexpr int64_t kCellBytes = 1 << 20;
  constexpr int kCells = 500;
  std::atomic<int> said = 0;
  const Script script{
      .run = [&](ThreadPool&, const StopCheck& stop,
                 EvaluationSink& sink) -> absl::StatusOr<EvaluationSummary> {
        for (; said < kCells; ++said) {
          if (const absl::Status status = stop(); !status.ok()) {
            return Stopped(status);
          }
          sink.OnCell(MakeCell(kCellBytes));
        }
        return EvaluationSummary();
      }};
  TestServer server(TestOptions(), Fake(&script));
  grpc::ClientContext context;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  ASSERT_TRUE(AwaitRunning(server, 1));
  // Until nothing has moved for a while.
  int before = -1, same = 0;
  while (same < 200) {
    server.Get("/healthz");
    same = said == before ? same + 1 : 0;
    before = said;
  }
  EXPECT_LT(said, kCells / 4);
  const auto start = Clock::now();
  context.TryCancel();
  EXPECT_TRUE(AwaitRunning(server, 0));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
}

TEST(EvaluationDrainTest, TheEndOfTheGracePeriodEndsItWithWhatIsFinished) {
  const Script script{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.grace_seconds = 1;
  TestServer server(options, Fake(&script));
  BegunCall call(server);
  ASSERT_TRUE(call.has_begun);
  const auto start = Clock::now();
  std::thread stopper([&] { server.server().Shutdown(); });
  while (server.Get("/readyz").find("503") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Evaluate(server).status.error_code(), grpc::UNAVAILABLE);
  ASSERT_TRUE(call.reader->Read(&call.event));
  EXPECT_TRUE(call.event.summary().partial());
  EXPECT_TRUE(call.reader->Finish().ok());
  stopper.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace locus::server
