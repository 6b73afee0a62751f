#include "server/services/evaluation_service.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/shape.h"
#include "core/base/status.h"
#include "core/properties/naive.h"
#include "core/properties/properties.h"
#include "server/admission/request_limits.h"
#include "server/evaluation/manifest.h"
#include "server/evaluation/runner.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::server {
namespace {

// The property checks of one call, as a job for RpcScope::Prepare().
struct PropertiesJob {
  PropertiesPlan plan;

  int64_t output_bytes() const {
    // Each result contains a sentence or two.
    constexpr int64_t kBytesPerScheme = kPropertyCount * 512;
    constexpr int64_t kMaxNaiveEncodings = 8;
    return kBytesPerScheme *
           (static_cast<int64_t>(plan.schemes.size()) + kMaxNaiveEncodings);
  }
  double flops() const {
    // A scheme takes less than a millisecond.
    constexpr double kFlopsPerScheme = 1.5e7;
    return kFlopsPerScheme * static_cast<double>(plan.schemes.size());
  }
  int64_t scratch_bytes(int) const {
    // The worked cases have a few dozen tokens and channels.
    return int64_t{16} << 20;
  }

  absl::StatusOr<v1::CheckPropertiesResponse> Run(
      ThreadPool&, const CancellationCheck& stop) const {
    v1::CheckPropertiesResponse response;
    const auto add = [&](absl::string_view name,
                         const std::vector<PropertyResult>& results) {
      v1::SchemeProperties* scheme = response.add_results();
      scheme->set_scheme_name(std::string(name));
      for (const PropertyResult& result : results) {
        ToProto(result, scheme->add_properties());
      }
      return scheme;
    };
    for (const NamedScheme& scheme : plan.schemes) {
      const ResolvedScheme& resolved = scheme.resolved;
      LOCUS_ASSIGN_OR_RETURN(
          const auto results,
          locus::CheckProperties(*resolved.scheme, resolved.info->promises,
                                 stop));
      add(scheme.name, results);
    }
    if (!plan.naive) return response;
    for (const SchemeInfo& encoding : NaiveEncodings()) {
      LOCUS_RETURN_IF_ERROR(stop());
      add(encoding.name, CheckNaive(encoding))->set_naive(true);
    }
    return response;
  }
};

// An evaluation that is ready to run, with all it needs.
struct PendingEvaluation {
  EvaluationPlan plan;
  std::unique_ptr<Evaluation> evaluation;
  std::optional<EvaluationExecutor::Slot> slot;
};

// Memory to create an evaluation.
constexpr int64_t kSizingBytes = int64_t{32} << 20;

}  // namespace

EvaluationService::EvaluationService(ServerState* state,
                                     EvaluationExecutor* executor,
                                     MakeEvaluation make_evaluation)
    : Service(state, kName),
      executor_(*executor),
      make_evaluation_(std::move(make_evaluation)) {
  AddUnary<v1::CheckPropertiesRequest, v1::CheckPropertiesResponse>(
      "CheckProperties", &CheckProperties);
  AddStream<v1::EvaluateExtrapolationRequest,
            v1::EvaluateExtrapolationResponse>(
      "EvaluateExtrapolation",
      [this](RpcScope& call, const v1::EvaluateExtrapolationRequest& request) {
        return EvaluateExtrapolation(call, request);
      });
}

absl::StatusOr<Computation<v1::CheckPropertiesResponse>>
EvaluationService::CheckProperties(RpcScope& call,
                                   const v1::CheckPropertiesRequest& request) {
  LOCUS_RETURN_IF_ERROR(CheckTensors(call.options(), request));
  LOCUS_RETURN_IF_ERROR(call.Reserve(PlanBytes(request)));
  LOCUS_ASSIGN_OR_RETURN(PropertiesPlan plan, ToPropertiesPlan(request));
  return call.Prepare<v1::CheckPropertiesResponse>(
      PropertiesJob{std::move(plan)},
      [](v1::CheckPropertiesResponse result,
         Response<v1::CheckPropertiesResponse>* response) {
        response->message = std::move(result);
      });
}

absl::Status EvaluationService::CheckFlops(const Evaluation& evaluation) {
  const double limit = state().options.max_evaluation_flops;
  if (evaluation.flops() <= limit) return absl::OkStatus();
  return LimitExceeded(
      "request", "max_evaluation_flops",
      absl::StrCat("needs ", evaluation.flops(),
                   " multiplications and additions; max_evaluation_flops is ",
                   limit, "; ", evaluation.SuggestReduction(limit)));
}

// Creating the evaluation, which computes its cost, takes about as long as a
// short call.
absl::StatusOr<Service::StreamBody<v1::EvaluateExtrapolationResponse>>
EvaluationService::EvaluateExtrapolation(
    RpcScope& call, const v1::EvaluateExtrapolationRequest& request) {
  LOCUS_RETURN_IF_ERROR(CheckTensors(call.options(), request));
  LOCUS_RETURN_IF_ERROR(call.Reserve(PlanBytes(request)));
  auto pending = std::make_unique<PendingEvaluation>();
  EvaluationPlan& plan = pending->plan;
  LOCUS_ASSIGN_OR_RETURN(plan, ToEvaluationPlan(request));
  LOCUS_RETURN_IF_ERROR(call.Reserve(kSizingBytes));
  LOCUS_ASSIGN_OR_RETURN(
      pending->evaluation,
      make_evaluation_(plan.settings, plan.evaluated_schemes()));
  LOCUS_RETURN_IF_ERROR(CheckFlops(*pending->evaluation));
  const int threads = executor_.pool().thread_count();
  LOCUS_RETURN_IF_ERROR(call.CheckResponseBytes(plan.max_cell_bytes()));
  LOCUS_RETURN_IF_ERROR(call.Reserve(StreamBufferBytes(plan.max_cell_bytes())));
  LOCUS_RETURN_IF_ERROR(
      call.Reserve(pending->evaluation->scratch_bytes(threads)));
  LOCUS_ASSIGN_OR_RETURN(EvaluationExecutor::Slot slot, executor_.Enter());
  pending->slot.emplace(std::move(slot));
  return [this, &call, pending = std::move(pending)](
             ResponseStream<v1::EvaluateExtrapolationResponse>& stream)
             -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(
        const EvaluationSummary summary,
        RunEvaluation(state(), executor_, call, *pending->evaluation, stream));
    v1::EvaluateExtrapolationResponse last;
    ToProto(summary, last.mutable_summary());
    last.mutable_summary()->set_manifest_json(
        MakeManifest(pending->plan, summary, absl::Now()));
    return stream.Write(last);
  };
}

}  // namespace locus::server
