// EvaluateExtrapolation over a real connection, with fake evaluations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/evaluation_testing.h"

namespace locus::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kLabels[] =
    "{grpc_method=\"EvaluateExtrapolation\","
    "grpc_service=\"locus.v1.EvaluationService\","
    "grpc_type=\"server_stream\"} ";

TEST(EvaluationTest, StreamsProgressCellsAndSummary) {
  const FakeEvaluationJob job{.run = RunShort};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  const EvaluateResult result = Evaluate(server);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  std::string kinds;
  for (const Event& event : result.events) {
    kinds += event.has_progress() ? 'p' : event.has_cell() ? 'c' : 's';
    const double remaining = event.progress().remaining_seconds();
    EXPECT_TRUE(std::isfinite(remaining) && remaining >= 0) << remaining;
  }
  EXPECT_EQ(kinds, "ppcppcs");
  EXPECT_EQ(result.events[0].progress().scheme_name(), "rope");
  EXPECT_EQ(result.events[0].progress().step(), 1);
  EXPECT_EQ(result.events[0].progress().loss(), 1.5);
  EXPECT_EQ(result.events[2].cell().metrics().size(), 26u);
  const v1::EvaluationSummary& summary = result.summary();
  ASSERT_EQ(summary.rows_size(), 1);
  EXPECT_EQ(summary.rows(0).mean(), 1.0 / 3);
  EXPECT_EQ(summary.differences(0).baseline_name(), "none");
  EXPECT_TRUE(summary.gates(0).passed());
  EXPECT_EQ(summary.winner(), "rope");
  EXPECT_EQ(summary.verdict().kind(), v1::VERDICT_KIND_WINNER);
  EXPECT_EQ(summary.verdict().winner(), "rope");
  EXPECT_EQ(summary.verdict().text(), summary.reason());
  EXPECT_FALSE(summary.partial());
  const auto manifest = nlohmann::json::parse(summary.manifest_json());
  EXPECT_EQ(manifest["experiment"], "pattern");
  EXPECT_EQ(manifest["results"]["rows"][0]["mean"], 1.0 / 3);
}

TEST(EvaluationTest, LimitsRateOfProgressEvents) {
  const FakeEvaluationJob job{
      .run = [](ThreadPool&, const CancellationCheck&, EvaluationSink& sink) {
        for (int64_t i = 1; i <= 10'000; ++i) {
          EvaluationProgress progress;
          progress.scheme_name = "rope";
          progress.step = i;
          progress.step_count = 10'000;
          progress.done_share = i / 10'000.0;
          sink.OnProgress(progress);
        }
        return EvaluationSummary();
      }};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  const EvaluateResult result = Evaluate(server);
  ASSERT_GE(result.events.size(), 3u);
  EXPECT_LT(result.events.size(), 1000u);
  EXPECT_EQ(result.events.front().progress().step(), 1);
  EXPECT_EQ(result.events[result.events.size() - 2].progress().step(), 10'000);
}

TEST(EvaluationTest, CountsStreamInMetrics) {
  const FakeEvaluationJob job{.run = RunShort};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  EXPECT_EQ(server.Metric(kCellsTotal), 0);
  EXPECT_EQ(RunningEvaluations(server), 0);
  EXPECT_EQ(server.Metric(absl::StrCat("grpc_server_started_total", kLabels)),
            0);
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", "my-id");
  Evaluate(server, &context, PatternRequest());
  EXPECT_EQ(Trailer(context, "x-request-id"), "my-id");
  int64_t micros = -1;
  EXPECT_TRUE(absl::SimpleAtoi(Trailer(context, "locus-queue-us"), &micros));
  EXPECT_TRUE(absl::SimpleAtoi(Trailer(context, "locus-compute-us"), &micros));
  EXPECT_GT(micros, 0);
  EXPECT_EQ(server.Metric(kCellsTotal), 2);
  EXPECT_EQ(RunningEvaluations(server), 0);
  EXPECT_EQ(server.Metric("locus_in_flight_calls"), 0);
  EXPECT_EQ(
      server.Metric(absl::StrCat("grpc_server_msg_received_total", kLabels)),
      1);
  EXPECT_EQ(server.Metric(absl::StrCat("grpc_server_msg_sent_total", kLabels)),
            7);
  EXPECT_EQ(server.Metric("grpc_server_handled_total{grpc_code=\"OK\","
                          "grpc_method=\"EvaluateExtrapolation\""),
            1);
}

TEST(EvaluationTest, EqualRequestsGetEqualBytes) {
  const FakeEvaluationJob job{.run = RunShort};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  const std::string wire = PatternRequest().SerializeAsString();
  const auto without_progress = [&] {
    std::vector<std::string> kept;
    for (const std::string& message : EvaluateBytes(server, &wire).messages) {
      Event event;
      EXPECT_TRUE(event.ParseFromString(message));
      if (!event.has_progress()) kept.push_back(message);
    }
    return kept;
  };
  const auto first = without_progress();
  EXPECT_EQ(first.size(), 3u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(without_progress(), first);
}

TEST(EvaluationTest, RejectsRequestsThatDoNotParse) {
  TestServer server;
  const std::string garbage("\xff\xff\xff\xff");
  for (const std::string* wire :
       {&garbage, static_cast<const std::string*>(nullptr)}) {
    const RawEvaluateResult result = EvaluateBytes(server, wire);
    EXPECT_THAT(result.messages, IsEmpty());
    EXPECT_EQ(result.status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(DetailsOf(result.status).info->metadata().at("field"), "request");
  }
  EXPECT_EQ(server.Metric("grpc_server_handled_total{grpc_code=\"INVALID_"
                          "ARGUMENT\",grpc_method=\"EvaluateExtrapolation\""),
            2);
  EXPECT_EQ(server.Metric("locus_in_flight_calls"), 0);
}

TEST(EvaluationTest, ConvertsExceptionsToStatus) {
  std::atomic<int> call_count = 0;
  const FakeEvaluationJob job{
      .run = [&](ThreadPool& pool, const CancellationCheck& stop,
                 EvaluationSink& sink) -> absl::StatusOr<EvaluationSummary> {
        switch (call_count++) {
          case 0:
            throw std::bad_alloc();
          case 1:
            throw std::runtime_error("secret");
          default:
            return RunShort(pool, stop, sink);
        }
      }};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  EXPECT_EQ(Evaluate(server).status.error_code(), grpc::RESOURCE_EXHAUSTED);
  const EvaluateResult thrown = Evaluate(server);
  EXPECT_EQ(thrown.status.error_code(), grpc::INTERNAL);
  EXPECT_THAT(thrown.status.error_message(), Not(HasSubstr("secret")));
  EXPECT_TRUE(Evaluate(server).status.ok());
}

TEST(EvaluationTest, FillsInDefaultsOfSchemes) {
  const FakeEvaluationJob job{.run = RunShort};
  TestServer server(TestOptions(), MakeFakeEvaluation(&job));
  v1::EvaluateExtrapolationRequest request = PatternRequest();
  request.set_train_length(48);
  request.add_schemes()->mutable_learned();
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_learned()->set_policy(v1::LEARNED_POLICY_WRAP);
  grpc::ClientContext context;
  const EvaluateResult result = Evaluate(server, &context, request);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  const auto configuration =
      nlohmann::json::parse(result.summary().manifest_json())["configuration"];
  const auto& schemes = configuration["schemes"];
  ASSERT_EQ(schemes.size(), 3u);
  EXPECT_EQ(schemes[0]["name"], "learned policy=CLAMP");
  EXPECT_EQ(schemes[0]["parameters"]["max_length"], 48);
  EXPECT_EQ(schemes[0]["parameters"]["policy"], "CLAMP");
  EXPECT_EQ(schemes[1]["name"], "rope");
  EXPECT_EQ(schemes[2]["name"], "learned policy=WRAP");
  EXPECT_EQ(schemes[2]["kind"], "learned");
  EXPECT_EQ(schemes[2]["parameters"]["policy"], "WRAP");
}

}  // namespace
}  // namespace locus::server
