// EvaluationService on a real server, with made-up evaluations.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/server/fake_evaluation.h"
#include "tests/server/test_server.h"

namespace locus::server {
namespace {

using Clock = std::chrono::steady_clock;
using Event = v1::EvaluateExtrapolationResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kRunning[] = "locus_evaluations_in_progress";
constexpr char kCells[] = "locus_evaluation_cells_total";
constexpr char kLabels[] =
    "{grpc_method=\"EvaluateExtrapolation\","
    "grpc_service=\"locus.v1.EvaluationService\","
    "grpc_type=\"server_stream\"} ";

// Two runs of two steps, a cell each, and a summary.
absl::StatusOr<EvaluationSummary> RunShort(ThreadPool&, const StopCheck&,
                                           EvaluationSink& sink) {
  for (int64_t i = 0; i < 4; ++i) {
    EvaluationProgress progress;
    progress.scheme_name = i < 2 ? "rope" : "alibi";
    progress.step = i % 2 + 1;
    progress.step_count = 2;
    progress.loss = 1.5;
    progress.done_share = (i + 1) / 4.0;
    sink.OnProgress(progress);
    if (i % 2 == 1) sink.OnCell(MakeCell());
  }
  EvaluationSummary summary;
  summary.rows.push_back({"rope", 128, "nll", 1.0 / 3, 0.25, 0.5, 3});
  summary.differences.push_back(
      {"rope", "none", 128, "nll", -1.0 / 3, -0.5, -0.25, 3});
  summary.gates.push_back({"rope", "nll", 2.5, 1, true});
  summary.winner = "rope";
  summary.reason = "it is ahead";
  return summary;
}

struct Answer {
  std::vector<Event> events;
  grpc::Status status;

  const v1::EvaluationSummary& summary() const {
    static const v1::EvaluationSummary none;
    return events.empty() ? none : events.back().summary();
  }
};

Answer Evaluate(TestServer& server, grpc::ClientContext* context,
                const v1::EvaluateExtrapolationRequest& request) {
  Answer answer;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(context, request);
  for (Event event; reader->Read(&event);) answer.events.push_back(event);
  answer.status = reader->Finish();
  return answer;
}

Answer Evaluate(TestServer& server) {
  grpc::ClientContext context;
  return Evaluate(server, &context, PatternRequest());
}

// One call with bytes; without, the stream is closed before a message.
struct RawAnswer {
  std::vector<std::string> messages;
  grpc::Status status;
};

RawAnswer EvaluateBytes(TestServer& server, const std::string* wire) {
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto stream = stub.PrepareCall(
      &context, "/locus.v1.EvaluationService/EvaluateExtrapolation", &queue);
  RawAnswer answer;
  stream->StartCall(nullptr);
  done();
  if (wire != nullptr) {
    const grpc::Slice slice(*wire);
    stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    done();
  }
  stream->WritesDone(nullptr);
  done();
  for (;;) {
    grpc::ByteBuffer message;
    stream->Read(&message, nullptr);
    if (!done()) break;
    grpc::Slice slice;
    message.DumpToSingleSlice(&slice);
    answer.messages.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                                 slice.size());
  }
  stream->Finish(&answer.status, nullptr);
  done();
  return answer;
}

bool AwaitRunning(TestServer& server, int count) {
  return server.AwaitMetric(kRunning, [&](double n) { return n == count; });
}

TEST(EvaluationTest, StreamsProgressCellsAndSummary) {
  const Script script{.run = RunShort};
  TestServer server(TestOptions(), Fake(&script));
  const Answer answer = Evaluate(server);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  std::string kinds;
  for (const Event& event : answer.events) {
    kinds += event.has_progress() ? 'p' : event.has_cell() ? 'c' : 's';
    const double remaining = event.progress().remaining_seconds();
    EXPECT_TRUE(std::isfinite(remaining) && remaining >= 0) << remaining;
  }
  EXPECT_EQ(kinds, "ppcppcs");
  EXPECT_EQ(answer.events[0].progress().scheme_name(), "rope");
  EXPECT_EQ(answer.events[0].progress().step(), 1);
  EXPECT_EQ(answer.events[0].progress().loss(), 1.5);
  EXPECT_EQ(answer.events[2].cell().metrics().size(), 26u);
  const v1::EvaluationSummary& summary = answer.summary();
  ASSERT_EQ(summary.rows_size(), 1);
  EXPECT_EQ(summary.rows(0).mean(), 1.0 / 3);
  EXPECT_EQ(summary.differences(0).baseline_name(), "none");
  EXPECT_TRUE(summary.gates(0).passed());
  EXPECT_EQ(summary.winner(), "rope");
  EXPECT_FALSE(summary.partial());
  const auto manifest = nlohmann::json::parse(summary.manifest_json());
  EXPECT_EQ(manifest["experiment"], "pattern");
  EXPECT_EQ(manifest["results"]["rows"][0]["mean"], 1.0 / 3);
}

TEST(EvaluationTest, ProgressIsThinnedOut) {
  const Script script{
      .run = [](ThreadPool&, const StopCheck&, EvaluationSink& sink) {
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
  TestServer server(TestOptions(), Fake(&script));
  const Answer answer = Evaluate(server);
  ASSERT_GE(answer.events.size(), 3u);
  EXPECT_LT(answer.events.size(), 1000u);
  EXPECT_EQ(answer.events.front().progress().step(), 1);
  EXPECT_EQ(answer.events[answer.events.size() - 2].progress().step(), 10'000);
}

TEST(EvaluationTest, CountsAStream) {
  const Script script{.run = RunShort};
  TestServer server(TestOptions(), Fake(&script));
  EXPECT_EQ(server.Metric(kCells), 0);
  EXPECT_EQ(server.Metric(kRunning), 0);
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
  EXPECT_EQ(server.Metric(kCells), 2);
  EXPECT_EQ(server.Metric(kRunning), 0);
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

TEST(EvaluationTest, TheSameRequestGetsTheSameBytes) {
  const Script script{.run = RunShort};
  TestServer server(TestOptions(), Fake(&script));
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

TEST(EvaluationTest, BytesThatDoNotParseAreTheCallersFault) {
  TestServer server;
  const std::string garbage("\xff\xff\xff\xff");
  for (const std::string* wire :
       {&garbage, static_cast<const std::string*>(nullptr)}) {
    const RawAnswer answer = EvaluateBytes(server, wire);
    EXPECT_THAT(answer.messages, IsEmpty());
    EXPECT_EQ(answer.status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(DetailsOf(answer.status).info->metadata().at("field"), "request");
  }
  EXPECT_EQ(server.Metric("grpc_server_handled_total{grpc_code=\"INVALID_"
                          "ARGUMENT\",grpc_method=\"EvaluateExtrapolation\""),
            2);
  EXPECT_EQ(server.Metric("locus_in_flight_calls"), 0);
}

TEST(EvaluationTest, WorkPastTheBudgetIsNotBegun) {
  const Script script{.flops = 2e12, .run = RunShort};
  ServerOptions options = TestOptions();
  options.max_evaluation_flops = 1e12;
  TestServer server(options, Fake(&script));
  const Answer answer = Evaluate(server);
  EXPECT_THAT(answer.events, IsEmpty());
  EXPECT_EQ(answer.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(answer.status.error_message(),
              AllOf(HasSubstr("2e+12"), HasSubstr("max_evaluation_flops"),
                    HasSubstr("1e+12"), HasSubstr("half of it would fit")));
  EXPECT_EQ(DetailsOf(answer.status).info->metadata().at("limit"),
            "max_evaluation_flops");
  EXPECT_EQ(server.Metric(kCells), 0);
}

TEST(EvaluationTest, MemoryIsReservedFirst) {
  ServerOptions options = TestOptions();
  options.memory_budget_bytes = 64 << 20;
  const Script script{.scratch_bytes = 65 << 20, .run = RunShort};
  TestServer server(options, Fake(&script));
  const Answer answer = Evaluate(server);
  EXPECT_EQ(answer.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(answer.status).info->metadata().at("limit"),
            "memory_budget_bytes");
  EXPECT_TRUE(server.AwaitMetric("locus_memory_reserved_bytes",
                                 [](double bytes) { return bytes == 0; }));
}

TEST(EvaluationTest, OneTooManyIsSentAway) {
  const Script script{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.max_evaluations = 1;
  TestServer server(options, Fake(&script));
  grpc::ClientContext context;
  const auto first =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  Event event;
  ASSERT_TRUE(first->Read(&event));
  EXPECT_EQ(server.Metric(kRunning), 1);
  const Answer second = Evaluate(server);
  EXPECT_EQ(second.status.error_code(), grpc::UNAVAILABLE);
  const ErrorDetails details = DetailsOf(second.status);
  ASSERT_TRUE(details.info && details.retry);
  EXPECT_EQ(details.info->reason(), "OVERLOADED");
  EXPECT_EQ(details.retry->retry_delay().seconds(), 5);
  EXPECT_EQ(server.Metric("locus_shed_calls_total{reason=\"evaluations\"}"), 1);
  context.TryCancel();
  EXPECT_TRUE(AwaitRunning(server, 0));
}

TEST(EvaluationTest, CanBeTurnedOff) {
  const Script script{.run = RunShort};
  ServerOptions options = TestOptions();
  options.max_evaluations = 0;
  TestServer server(options, Fake(&script));
  const Answer answer = Evaluate(server);
  EXPECT_EQ(answer.status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DetailsOf(answer.status).info->metadata().at("limit"),
            "max_evaluations");
}

TEST(EvaluationTest, CancellingEndsTheWork) {
  std::atomic<bool> ended = false;
  const Script script{.run = [&](ThreadPool& pool, const StopCheck& stop,
                                 EvaluationSink& sink) {
    auto summary = RunUntilStopped(pool, stop, sink);
    EXPECT_TRUE(absl::IsCancelled(summary.status())) << summary.status();
    ended = true;
    return summary;
  }};
  TestServer server(TestOptions(), Fake(&script));
  grpc::ClientContext context;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  const auto start = Clock::now();
  context.TryCancel();
  EXPECT_TRUE(AwaitRunning(server, 0));
  EXPECT_TRUE(ended);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
  EXPECT_TRUE(
      server.AwaitMetric("grpc_server_handled_total{grpc_code=\"CANCELLED\","
                         "grpc_method=\"EvaluateExtrapolation\"",
                         [](double calls) { return calls == 1; }));
}

TEST(EvaluationTest, ADeadlineEndsItWithWhatIsFinished) {
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

TEST(EvaluationTest, ASlowReaderHoldsItUpInBoundedMemory) {
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

TEST(EvaluationTest, WhatItThrowsIsNotTheEndOfTheServer) {
  std::atomic<int> turn = 0;
  const Script script{
      .run = [&](ThreadPool& pool, const StopCheck& stop,
                 EvaluationSink& sink) -> absl::StatusOr<EvaluationSummary> {
        switch (turn++) {
          case 0:
            throw std::bad_alloc();
          case 1:
            throw std::runtime_error("secret");
          default:
            return RunShort(pool, stop, sink);
        }
      }};
  TestServer server(TestOptions(), Fake(&script));
  EXPECT_EQ(Evaluate(server).status.error_code(), grpc::RESOURCE_EXHAUSTED);
  const Answer thrown = Evaluate(server);
  EXPECT_EQ(thrown.status.error_code(), grpc::INTERNAL);
  EXPECT_THAT(thrown.status.error_message(), Not(HasSubstr("secret")));
  EXPECT_TRUE(Evaluate(server).status.ok());
}

TEST(EvaluationTest, RunsBehindEverythingElse) {
  std::atomic<int> normal = 0, lowered = 0;
  const auto look = [&](int64_t) {
    const bool low = sched_getscheduler(0) == SCHED_IDLE;
    ++(low ? lowered : normal);
  };
  const Script script{
      .run = [&](ThreadPool& pool, const StopCheck&, EvaluationSink&) {
        pool.ParallelFor(1000, look);
        return EvaluationSummary();
      }};
  ServerOptions options = TestOptions();
  options.background_evaluations = true;
  TestServer server(options, Fake(&script));
  EXPECT_TRUE(Evaluate(server).status.ok());
  EXPECT_EQ(lowered, 1000);
  EXPECT_EQ(normal, 0);
  EXPECT_NE(sched_getscheduler(0), SCHED_IDLE);
}

TEST(EvaluationTest, RunsBesideEverythingElseIfTold) {
  std::atomic<int> lowered = 0;
  const Script script{
      .run = [&](ThreadPool& pool, const StopCheck&, EvaluationSink&) {
        pool.ParallelFor(1000, [&](int64_t) {
          if (sched_getscheduler(0) == SCHED_IDLE) ++lowered;
        });
        return EvaluationSummary();
      }};
  ServerOptions options = TestOptions();
  options.background_evaluations = false;
  TestServer server(options, Fake(&script));
  EXPECT_TRUE(Evaluate(server).status.ok());
  EXPECT_EQ(lowered, 0);
}

TEST(EvaluationTest, TakesNoSlotOfTheShortCalls) {
  const Script script{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.threads = 1;
  options.max_queued_calls = 0;
  TestServer server(options, Fake(&script));
  grpc::ClientContext context;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  grpc::ClientContext short_context;
  v1::CheckPropertiesRequest request;
  request.add_schemes()->mutable_rope();
  v1::CheckPropertiesResponse response;
  EXPECT_TRUE(server.evaluation()
                  .CheckProperties(&short_context, request, &response)
                  .ok());
  context.TryCancel();
}

TEST(EvaluationDrainTest, TheEndOfTheGracePeriodEndsItWithWhatIsFinished) {
  const Script script{.run = RunUntilStopped};
  ServerOptions options = TestOptions();
  options.grace_seconds = 1;
  TestServer server(options, Fake(&script));
  grpc::ClientContext context;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(&context, PatternRequest());
  Event event;
  ASSERT_TRUE(reader->Read(&event));
  const auto start = Clock::now();
  std::thread stopper([&] { server.server().Shutdown(); });
  while (server.Get("/readyz").find("503") == std::string::npos) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Evaluate(server).status.error_code(), grpc::UNAVAILABLE);
  ASSERT_TRUE(reader->Read(&event));
  EXPECT_TRUE(event.summary().partial());
  EXPECT_TRUE(reader->Finish().ok());
  stopper.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

TEST(EvaluationRequestTest, WhatIsLeftOpenIsChosenForTheEvaluation) {
  const Script script{.run = RunShort};
  TestServer server(TestOptions(), Fake(&script));
  v1::EvaluateExtrapolationRequest request = PatternRequest();
  request.set_train_length(48);
  request.add_schemes()->mutable_learned();
  request.add_schemes()->mutable_rope();
  request.add_schemes()->mutable_learned()->set_policy(v1::LEARNED_POLICY_WRAP);
  grpc::ClientContext context;
  const Answer answer = Evaluate(server, &context, request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const auto configuration =
      nlohmann::json::parse(answer.summary().manifest_json())["configuration"];
  const auto& schemes = configuration["schemes"];
  ASSERT_EQ(schemes.size(), 3u);
  EXPECT_EQ(schemes[0]["name"], "learned");
  EXPECT_EQ(schemes[0]["parameters"]["max_length"], 48);
  EXPECT_EQ(schemes[0]["parameters"]["policy"], "CLAMP");
  EXPECT_EQ(schemes[1]["name"], "rope");
  EXPECT_EQ(schemes[2]["name"], "learned#2");
  EXPECT_EQ(schemes[2]["kind"], "learned");
  EXPECT_EQ(schemes[2]["parameters"]["policy"], "WRAP");
}

TEST(CheckPropertiesTest, ChecksAllSchemesAndTheNaiveOnes) {
  TestServer server;
  grpc::ClientContext context;
  v1::CheckPropertiesResponse response;
  const grpc::Status status =
      server.evaluation().CheckProperties(&context, {}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const int schemes = v1::Scheme::descriptor()->field_count();
  EXPECT_EQ(response.results_size(), schemes + 3);
  for (int i = 0; i < response.results_size(); ++i) {
    const v1::SchemeProperties& result = response.results(i);
    EXPECT_EQ(result.naive(), i >= schemes);
    EXPECT_GE(result.properties_size(), result.naive() ? 1 : 9);
    for (const auto& property : result.properties()) {
      EXPECT_TRUE(property.as_promised())
          << result.scheme_name() << " " << property.property();
    }
  }
}

TEST(CheckPropertiesTest, ChecksWhatIsNamed) {
  TestServer server;
  for (const bool naive : {false, true}) {
    v1::CheckPropertiesRequest request;
    request.add_schemes()->mutable_rope();
    request.add_schemes()->mutable_rope()->set_base(500);
    if (naive) request.set_naive(true);
    grpc::ClientContext context;
    v1::CheckPropertiesResponse response;
    ASSERT_TRUE(
        server.evaluation().CheckProperties(&context, request, &response).ok());
    ASSERT_EQ(response.results_size(), naive ? 5 : 2);
    EXPECT_EQ(response.results(0).scheme_name(), "rope");
    EXPECT_EQ(response.results(1).scheme_name(), "rope#2");
  }
}

}  // namespace
}  // namespace locus::server
