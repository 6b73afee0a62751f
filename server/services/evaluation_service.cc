#include "server/services/evaluation_service.h"

#include <memory>
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

// The property checks of one call, as a job for RpcScope::Run().
struct PropertiesJob {
  const PropertiesPlan& plan;

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
    for (const NaiveEncoding& encoding : NaiveEncodings()) {
      LOCUS_RETURN_IF_ERROR(stop());
      add(encoding.info.name, CheckNaive(encoding))->set_naive(true);
    }
    return response;
  }
};

// Creates the evaluation of one call, which computes its cost. This takes about
// as long as a short call, so that it needs a slot like one.
struct SizingJob {
  const MakeEvaluation& make_evaluation;
  const EvaluationPlan& plan;

  int64_t output_bytes() const { return 0; }
  int64_t scratch_bytes(int) const { return int64_t{32} << 20; }
  double flops() const { return 1e7; }
  absl::StatusOr<std::unique_ptr<Evaluation>> Run(
      ThreadPool&, const CancellationCheck&) const {
    return make_evaluation(plan.settings, plan.evaluated_schemes());
  }
};

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
      [this](RpcScope& call, const v1::EvaluateExtrapolationRequest& request,
             Stream& stream) {
        return EvaluateExtrapolation(call, request, stream);
      });
}

absl::Status EvaluationService::CheckProperties(
    RpcScope& call, const v1::CheckPropertiesRequest& request,
    Response<v1::CheckPropertiesResponse>* response) {
  LOCUS_RETURN_IF_ERROR(CheckTensors(call.options(), request));
  LOCUS_RETURN_IF_ERROR(call.Reserve(PlanBytes(request)));
  LOCUS_ASSIGN_OR_RETURN(const PropertiesPlan plan, ToPropertiesPlan(request));
  LOCUS_ASSIGN_OR_RETURN(response->message, call.Run(PropertiesJob{plan}));
  return absl::OkStatus();
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

absl::Status EvaluationService::EvaluateExtrapolation(
    RpcScope& call, const v1::EvaluateExtrapolationRequest& request,
    Stream& stream) {
  LOCUS_RETURN_IF_ERROR(CheckTensors(call.options(), request));
  LOCUS_RETURN_IF_ERROR(call.Reserve(PlanBytes(request)));
  LOCUS_ASSIGN_OR_RETURN(const EvaluationPlan plan, ToEvaluationPlan(request));
  LOCUS_ASSIGN_OR_RETURN(const auto evaluation,
                         call.Run(SizingJob{make_evaluation_, plan}));
  LOCUS_RETURN_IF_ERROR(CheckFlops(*evaluation));
  const int threads = executor_.pool().thread_count();
  LOCUS_RETURN_IF_ERROR(call.CheckResponseBytes(plan.max_cell_bytes()));
  LOCUS_RETURN_IF_ERROR(call.Reserve(StreamBufferBytes(plan.max_cell_bytes())));
  LOCUS_RETURN_IF_ERROR(call.Reserve(evaluation->scratch_bytes(threads)));
  v1::EvaluateExtrapolationResponse last;
  {
    LOCUS_ASSIGN_OR_RETURN(const EvaluationExecutor::Slot slot,
                           executor_.Enter());
    LOCUS_ASSIGN_OR_RETURN(
        const EvaluationSummary summary,
        RunEvaluation(state(), executor_, call, *evaluation, stream));
    ToProto(summary, last.mutable_summary());
    last.mutable_summary()->set_manifest_json(
        MakeManifest(plan, summary, absl::Now()));
  }
  return stream.Write(last);
}

}  // namespace locus::server
