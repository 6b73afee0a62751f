// Limits of evaluations: work, memory, concurrency and thread priority.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "tests/support/evaluation_testing.h"

namespace locus::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(EvaluationLimitsTest, RejectsWorkAboveMaxEvaluationFlops) {
  const FakeEvaluationJob job{.flops = 2e12, .run = RunShort};
  ServerOptions options = TestOptions();
  options.max_evaluation_flops = 1e12;
  TestServer server(options, MakeFakeEvaluation(&job));
  const EvaluateResult result = Evaluate(server);
  EXPECT_TRUE(result.events.empty());
  EXPECT_EQ(result.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("2e+12"), HasSubstr("max_evaluation_flops"),
                    HasSubstr("1e+12"), HasSubstr("half of it would fit")));
  EXPECT_EQ(DetailsOf(result.status).info->metadata().at("limit"),
            "max_evaluation_flops");
  EXPECT_EQ(server.Metric(kCellsTotal), 0);
}

TEST(EvaluationLimitsTest, ReservesMemoryBeforeRunning) {
  ServerOptions options = TestOptions();
  options.memory_budget_bytes = 64 << 20;
  const FakeEvaluationJob job{.scratch_bytes = 65 << 20, .run = RunShort};
  TestServer server(options, MakeFakeEvaluation(&job));
  const EvaluateResult result = Evaluate(server);
  EXPECT_EQ(result.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(result.status).info->metadata().at("limit"),
            "memory_budget_bytes");
  EXPECT_TRUE(server.AwaitMetric("locus_memory_reserved_bytes",
                                 [](double bytes) { return bytes == 0; }));
}

TEST(EvaluationLimitsTest, RejectsMoreThanMaxEvaluations) {
  const FakeEvaluationJob job{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.max_evaluations = 1;
  TestServer server(options, MakeFakeEvaluation(&job));
  StartedCall first(server);
  ASSERT_TRUE(first.has_started);
  EXPECT_EQ(RunningEvaluations(server), 1);
  const EvaluateResult second = Evaluate(server);
  EXPECT_EQ(second.status.error_code(), grpc::UNAVAILABLE);
  const ErrorDetails details = DetailsOf(second.status);
  ASSERT_TRUE(details.info && details.retry);
  EXPECT_EQ(details.info->reason(), "OVERLOADED");
  EXPECT_EQ(details.retry->retry_delay().seconds(), 5);
  EXPECT_EQ(server.Metric("locus_rejected_calls_total{reason=\"evaluations\"}"),
            1);
  first.context.TryCancel();
  EXPECT_TRUE(AwaitRunningEvaluations(server, 0));
}

TEST(EvaluationLimitsTest, RejectsAllIfMaxEvaluationsIsZero) {
  const FakeEvaluationJob job{.run = RunShort};
  ServerOptions options = TestOptions();
  options.max_evaluations = 0;
  TestServer server(options, MakeFakeEvaluation(&job));
  const EvaluateResult result = Evaluate(server);
  EXPECT_EQ(result.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(result.status).info->metadata().at("limit"),
            "max_evaluations");
}

TEST(EvaluationLimitsTest, RunsAtLowestPriority) {
  std::atomic<int> normal = 0, lowered = 0;
  const auto count = [&](int64_t) {
    const bool low = sched_getscheduler(0) == SCHED_IDLE;
    ++(low ? lowered : normal);
  };
  const FakeEvaluationJob job{
      .run = [&](ThreadPool& pool, const CancellationCheck&, EvaluationSink&) {
        pool.ParallelFor(1000, count);
        return EvaluationSummary();
      }};
  ServerOptions options = TestOptions();
  options.background_evaluations = true;
  TestServer server(options, MakeFakeEvaluation(&job));
  EXPECT_TRUE(Evaluate(server).status.ok());
  EXPECT_EQ(lowered, 1000);
  EXPECT_EQ(normal, 0);
  EXPECT_NE(sched_getscheduler(0), SCHED_IDLE);
}

TEST(EvaluationLimitsTest, RunsAtNormalPriorityWithoutBackground) {
  std::atomic<int> lowered = 0;
  const FakeEvaluationJob job{
      .run = [&](ThreadPool& pool, const CancellationCheck&, EvaluationSink&) {
        pool.ParallelFor(1000, [&](int64_t) {
          if (sched_getscheduler(0) == SCHED_IDLE) ++lowered;
        });
        return EvaluationSummary();
      }};
  ServerOptions options = TestOptions();
  options.background_evaluations = false;
  TestServer server(options, MakeFakeEvaluation(&job));
  EXPECT_TRUE(Evaluate(server).status.ok());
  EXPECT_EQ(lowered, 0);
}

TEST(EvaluationLimitsTest, TakesNoSlotOfShortCalls) {
  const FakeEvaluationJob job{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 0;
  TestServer server(options, MakeFakeEvaluation(&job));
  StartedCall call(server);
  ASSERT_TRUE(call.has_started);
  grpc::ClientContext short_context;
  v1::CheckPropertiesRequest request;
  request.add_schemes()->mutable_rope();
  v1::CheckPropertiesResponse response;
  EXPECT_TRUE(server.evaluation()
                  .CheckProperties(&short_context, request, &response)
                  .ok());
  call.context.TryCancel();
}

}  // namespace
}  // namespace locus::server
