// An EvaluationService with scripted responses, for tests of clients. The seed
// of a request selects the behaviour.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
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
    // Sends two cells and a partial summary, as at the deadline of a call.
    kPartial = 6,
    // Sends two cells and a summary with a manifest of 3 MiB.
    kLarge = 7,
    // Sends names with control characters and bidirectional marks.
    kHostile = 8,
    // Sends such a name and fails with such a message.
    kHostileError = 9,
    // Sends two cells and a manifest that is no JSON.
    kMalformed = 10,
    // Sends two cells and no summary.
    kNoSummary = 11,
  };

  explicit FakeEvaluation(std::string manifest)
      : manifest_(std::move(manifest)) {}

  grpc::Status CheckProperties(grpc::ServerContext*,
                               const v1::CheckPropertiesRequest* request,
                               v1::CheckPropertiesResponse* response) override {
    v1::SchemeProperties* scheme = response->add_results();
    const bool is_hostile =
        request->schemes_size() == 1 && request->schemes(0).has_none();
    scheme->set_scheme_name(is_hostile ? HostileText("rope") : "rope");
    v1::PropertyResult* kept = scheme->add_properties();
    kept->set_property("shift_invariance");
    kept->set_verdict(v1::PROPERTY_VERDICT_HOLDS);
    kept->set_measured(1e-9);
    kept->set_tolerance(1e-6);
    kept->set_promise(v1::PROMISE_ANSWER_YES);
    kept->set_as_promised(true);
    kept->set_worked_case(is_hostile ? HostileText("case")
                                     : "scores of 16 tokens, shifted by 100");
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
    const bool is_hostile = seed == kHostile || seed == kHostileError;
    const std::string scheme = is_hostile ? HostileText("rope") : "rope";
    for (const int64_t length : {64, 128}) {
      WriteProgress(scheme, seed, length, writer);
      WriteCell(scheme, seed, length, writer);
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
    if (seed == kHostileError) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, HostileText("error"));
    }
    if (seed == kNoSummary) return grpc::Status::OK;
    v1::EvaluateExtrapolationResponse event;
    event.mutable_summary()->set_partial(seed == kPartial);
    event.mutable_summary()->set_manifest_json(ManifestFor(seed));
    writer->Write(event);
    return grpc::Status::OK;
  }

  // A name or message with ESC, NUL, a newline, C1 control characters and
  // bidirectional marks.
  static std::string HostileText(absl::string_view text) {
    using namespace std::string_literals;
    return absl::StrCat(text, "\x1b[2J\0\n\u009b31m\u202e\u2067\u200f\x7f"s);
  }

  std::atomic<int> calls{0};

 private:
  using Writer = grpc::ServerWriter<v1::EvaluateExtrapolationResponse>;

  std::string ManifestFor(uint64_t seed) const {
    switch (seed) {
      case kPartial:
        return absl::StrReplaceAll(
            manifest_, {{"\"partial\": false", "\"partial\": true"}});
      case kLarge:
        return absl::StrCat("{\"padding\": \"", std::string(3 << 20, 'x'),
                            "\", ", manifest_.substr(1));
      case kHostile:
        // Some characters as JSON escapes and some as they are.
        return absl::StrReplaceAll(
            manifest_,
            {{"alibi", "alibi\\u001b[2J\\u0000\\n\u009b31m\u202e\\u2067\x7f"}});
      case kMalformed:
        return "no manifest";
      default:
        return manifest_;
    }
  }

  static void WriteProgress(const std::string& scheme, uint64_t seed,
                            int64_t step, Writer* writer) {
    v1::EvaluateExtrapolationResponse event;
    v1::EvaluationProgress* progress = event.mutable_progress();
    progress->set_scheme_name(scheme);
    progress->set_seed(seed);
    progress->set_step(step);
    progress->set_step_count(400);
    progress->set_loss(2.5);
    progress->set_remaining_seconds(80);
    writer->Write(event);
  }

  static void WriteCell(const std::string& scheme, uint64_t seed,
                        int64_t length, Writer* writer) {
    v1::EvaluateExtrapolationResponse event;
    v1::EvaluationCell* cell = event.mutable_cell();
    cell->set_scheme_name(scheme);
    cell->set_seed(seed);
    cell->set_eval_length(length);
    (*cell->mutable_metrics())["nll"] = 1.5;
    (*cell->mutable_metrics())["bits_per_byte"] = 2.25;
    writer->Write(event);
  }

  const std::string manifest_;
};

}  // namespace locus::client
