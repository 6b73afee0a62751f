// What the tests of evaluations share: a short one, and calls.
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

// Two runs of two steps, a cell each, and a summary.
absl::StatusOr<EvaluationSummary> RunShort(ThreadPool& pool,
                                           const StopCheck& stop,
                                           EvaluationSink& sink);

// One call from its beginning to its end.
struct Answer {
  std::vector<Event> events;
  grpc::Status status;

  const v1::EvaluationSummary& summary() const;
};
Answer Evaluate(TestServer& server, grpc::ClientContext* context,
                const v1::EvaluateExtrapolationRequest& request);
Answer Evaluate(TestServer& server);

// The same with bytes; null: the stream is closed before a message.
struct RawAnswer {
  std::vector<std::string> messages;
  grpc::Status status;
};
RawAnswer EvaluateBytes(TestServer& server, const std::string* wire);

// A call that has begun, if the script says anything: its first event was read.
struct BegunCall {
  explicit BegunCall(TestServer& server);

  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<Event>> reader;
  Event event;
  bool has_begun = false;
};

// The metric of how many run.
double Running(TestServer& server);
// Waits until so many run; false after ten seconds.
bool AwaitRunning(TestServer& server, int count);

}  // namespace locus::server
