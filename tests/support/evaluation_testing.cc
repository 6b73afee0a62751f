#include "tests/support/evaluation_testing.h"

#include <grpcpp/generic/generic_stub.h>

namespace locus::server {
namespace {

constexpr char kRunning[] = "locus_evaluations_in_progress";

}  // namespace

absl::StatusOr<EvaluationSummary> RunShort(ThreadPool&,
                                           const CancellationCheck&,
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
  summary.verdict = {
      .kind = VerdictKind::kWinner, .winner = "rope", .text = "it is ahead"};
  return summary;
}

const v1::EvaluationSummary& EvaluateResult::summary() const {
  static const v1::EvaluationSummary none;
  return events.empty() ? none : events.back().summary();
}

EvaluateResult Evaluate(TestServer& server, grpc::ClientContext* context,
                        const v1::EvaluateExtrapolationRequest& request) {
  EvaluateResult result;
  const auto reader =
      server.evaluation().EvaluateExtrapolation(context, request);
  for (Event event; reader->Read(&event);) result.events.push_back(event);
  result.status = reader->Finish();
  return result;
}

EvaluateResult Evaluate(TestServer& server) {
  grpc::ClientContext context;
  return Evaluate(server, &context, PatternRequest());
}

RawEvaluateResult EvaluateBytes(TestServer& server, const std::string* wire) {
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
  RawEvaluateResult result;
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
    result.messages.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                                 slice.size());
  }
  stream->Finish(&result.status, nullptr);
  done();
  return result;
}

StartedCall::StartedCall(TestServer& server)
    : reader(server.evaluation().EvaluateExtrapolation(&context,
                                                       PatternRequest())),
      has_started(reader->Read(&event)) {}

double RunningEvaluations(TestServer& server) {
  return server.Metric(kRunning);
}

bool AwaitRunningEvaluations(TestServer& server, int count) {
  return server.AwaitMetric(kRunning, [&](double n) { return n == count; });
}

}  // namespace locus::server
