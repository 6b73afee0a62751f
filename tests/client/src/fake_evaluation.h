// An EvaluationService with scripted responses, for tests of clients. The seed
// of a request selects the behaviour.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "locus/v1/evaluation.grpc.pb.h"

namespace locus::client {

class FakeEvaluation final : public v1::EvaluationService::Service {
 public:
  enum Seed : uint64_t {
    // Sends two cells and a summary.
    kComplete = 0,
    // Sends two cells and then blocks until the client cancels.
    kHanging = 1,
    // Fails the first call with UNAVAILABLE before any event.
    kBusy = 2,
    // Sends two cells and fails with UNAVAILABLE.
    kBreaking = 3,
    // Rejects the request with INVALID_ARGUMENT.
    kInvalid = 4,
    // Sends two cells and fails with DEADLINE_EXCEEDED.
    kLate = 5,
  };

  explicit FakeEvaluation(std::string manifest)
      : manifest_(std::move(manifest)) {}

  grpc::Status CheckProperties(grpc::ServerContext*,
                               const v1::CheckPropertiesRequest* request,
                               v1::CheckPropertiesResponse* response) override {
    v1::SchemeProperties* scheme = response->add_results();
    scheme->set_scheme_name("rope");
    v1::PropertyResult* kept = scheme->add_properties();
    kept->set_property("shift_invariance");
    kept->set_verdict(v1::PROPERTY_VERDICT_HOLDS);
    kept->set_measured(1e-9);
    kept->set_tolerance(1e-6);
    kept->set_promise(v1::PROMISE_ANSWER_YES);
    kept->set_as_promised(true);
    kept->set_worked_case("scores of 16 tokens, shifted by 100");
    v1::PropertyResult* other = scheme->add_properties();
    *other = *kept;
    other->set_property("uniqueness");
    // A request for naive schemes gets a property that fails against its
    // promise.
    if (request->naive()) {
      other->set_verdict(v1::PROPERTY_VERDICT_FAILS);
      other->set_as_promised(false);
      v1::SchemeProperties* naive = response->add_results();
      naive->set_scheme_name("integer");
      naive->set_naive(true);
      v1::PropertyResult* fails = naive->add_properties();
      fails->set_property("boundedness");
      fails->set_verdict(v1::PROPERTY_VERDICT_FAILS);
      fails->set_measured(99);
      fails->set_tolerance(1);
    }
    return grpc::Status::OK;
  }

  grpc::Status EvaluateExtrapolation(
      grpc::ServerContext* context,
      const v1::EvaluateExtrapolationRequest* request,
      grpc::ServerWriter<v1::EvaluateExtrapolationResponse>* writer) override {
    const int call = ++calls;
    context->AddTrailingMetadata("x-request-id", "fake");
    const uint64_t seed = request->seed();
    if (seed == kInvalid) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                          "train_length: is 1; must be at least 2");
    }
    if (seed == kBusy && call == 1) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "busy");
    }
    for (const int64_t length : {64, 128}) {
      WriteProgress(seed, length, writer);
      WriteCell(seed, length, writer);
    }
    if (seed == kHanging) {
      while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
      return grpc::Status::CANCELLED;
    }
    if (seed == kBreaking) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
    }
    if (seed == kLate) {
      return grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "too late");
    }
    v1::EvaluateExtrapolationResponse event;
    event.mutable_summary()->set_manifest_json(manifest_);
    writer->Write(event);
    return grpc::Status::OK;
  }

  std::atomic<int> calls{0};

 private:
  using Writer = grpc::ServerWriter<v1::EvaluateExtrapolationResponse>;

  static void WriteProgress(uint64_t seed, int64_t step, Writer* writer) {
    v1::EvaluateExtrapolationResponse event;
    v1::EvaluationProgress* progress = event.mutable_progress();
    progress->set_scheme_name("rope");
    progress->set_seed(seed);
    progress->set_step(step);
    progress->set_step_count(400);
    progress->set_loss(2.5);
    progress->set_remaining_seconds(80);
    writer->Write(event);
  }

  static void WriteCell(uint64_t seed, int64_t length, Writer* writer) {
    v1::EvaluateExtrapolationResponse event;
    v1::EvaluationCell* cell = event.mutable_cell();
    cell->set_scheme_name("rope");
    cell->set_seed(seed);
    cell->set_eval_length(length);
    (*cell->mutable_metrics())["nll"] = 1.5;
    (*cell->mutable_metrics())["bits_per_byte"] = 2.25;
    writer->Write(event);
  }

  const std::string manifest_;
};

}  // namespace locus::client
