// Helpers for tests of EvaluateExtrapolation: a short fake evaluation, and
// calls.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "locus/v1/evaluation.grpc.pb.h"
#include "tests/support/fake_evaluation_job.h"
#include "tests/support/test_server.h"

namespace locus::server {

using Event = v1::EvaluateExtrapolationResponse;

inline constexpr char kCellsTotal[] = "locus_evaluation_cells_total";

// A fake evaluation of two runs, with two steps and one cell each, and a
// summary.
absl::StatusOr<EvaluationSummary> RunShort(ThreadPool& pool,
                                           const CancellationCheck& stop,
                                           EvaluationSink& sink);

// The result of one call: its events and its status.
struct EvaluateResult {
  std::vector<Event> events;
  grpc::Status status;

  // The summary in the last event; empty if there is none.
  const v1::EvaluationSummary& summary() const;
};
// Makes a call and reads all of its events.
EvaluateResult Evaluate(TestServer& server, grpc::ClientContext* context,
                        const v1::EvaluateExtrapolationRequest& request);
EvaluateResult Evaluate(TestServer& server);

// The result of one call, with serialised events.
struct RawEvaluateResult {
  std::vector<std::string> messages;
  grpc::Status status;
};
// Makes a call with a serialised request. If `wire` is null, the client closes
// the stream without sending a message.
RawEvaluateResult EvaluateBytes(TestServer& server, const std::string* wire);

// A call in progress, whose first event has been read.
struct StartedCall {
  explicit StartedCall(TestServer& server);

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<Event>> reader;
  Event event;
  bool has_started = false;
};

// The metric of running evaluations.
double RunningEvaluations(TestServer& server);
// Waits until `count` evaluations run; false after ten seconds.
bool AwaitRunningEvaluations(TestServer& server, int count);

}  // namespace locus::server
