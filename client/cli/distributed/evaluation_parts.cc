#include "client/cli/distributed/evaluation_parts.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/base/status.h"
#include "core/evaluation/evaluation.h"
#include "server/evaluation/manifest.h"
#include "server/services/convert/convert_evaluation.h"

namespace locus::client {
namespace {

using server::EvaluationPlan;

absl::StatusOr<EvaluationJob> MakeJob(const EvaluationPlan& plan) {
  return EvaluationJob::Create(plan.settings, plan.evaluated_schemes());
}

// Scheme `n` of the request or, if the request contains none, default scheme
// `n` as an empty message.
v1::Scheme SchemeOf(const v1::EvaluateExtrapolationRequest& request,
                    const EvaluationPlan& plan, size_t n) {
  if (!request.schemes().empty()) return request.schemes(static_cast<int>(n));
  v1::Scheme scheme;
  const auto* field = v1::Scheme::descriptor()->FindFieldByName(
      std::string(plan.schemes[n].resolved.info->name));
  v1::Scheme::GetReflection()->MutableMessage(&scheme, field);
  return scheme;
}

void AddCells(const EvaluationPlan& plan, size_t scheme, EvaluationPart* part) {
  for (const int64_t length : plan.settings.eval_lengths) {
    v1::EvaluationCell cell;
    cell.set_scheme_name(plan.schemes[scheme].name);
    cell.set_seed(part->request.seed());
    cell.set_eval_length(length);
    part->cells.push_back(std::move(cell));
  }
}

EvaluationCell ToCore(const v1::EvaluationCell& cell) {
  EvaluationCell core;
  core.scheme_name = cell.scheme_name();
  core.seed = cell.seed();
  core.eval_length = cell.eval_length();
  core.metrics.insert(cell.metrics().begin(), cell.metrics().end());
  if (cell.has_training_curve()) {
    const v1::TrainingCurve& curve = cell.training_curve();
    core.training_curve = {
        .scheme_name = cell.scheme_name(),
        .seed = cell.seed(),
        .steps = {curve.steps().begin(), curve.steps().end()},
        .losses = {curve.losses().begin(), curve.losses().end()}};
  }
  core.sorted_probabilities.assign(cell.sorted_probabilities().begin(),
                                   cell.sorted_probabilities().end());
  return core;
}

}  // namespace

absl::StatusOr<std::vector<EvaluationPart>> SplitEvaluation(
    const v1::EvaluateExtrapolationRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(const EvaluationPlan plan,
                         server::ToEvaluationPlan(request));
  LOCUS_ASSIGN_OR_RETURN(const EvaluationJob job, MakeJob(plan));
  std::vector<EvaluationPart> parts;
  const size_t scheme_count = plan.schemes.size();
  for (int64_t s = 0; s < plan.settings.seed_count; ++s) {
    EvaluationPart part{request, {}};
    part.request.set_seed(plan.settings.seed + static_cast<uint64_t>(s));
    part.request.set_seed_count(1);
    for (size_t n = 0; n < scheme_count; ++n) {
      if (!job.trains_once()) {
        part.cells.clear();
        part.request.clear_schemes();
        *part.request.add_schemes() = SchemeOf(request, plan, n);
      }
      AddCells(plan, n, &part);
      if (!job.trains_once() || n + 1 == scheme_count) parts.push_back(part);
    }
  }
  return parts;
}

absl::StatusOr<v1::EvaluationSummary> MergeEvaluation(
    const v1::EvaluateExtrapolationRequest& request,
    const std::vector<v1::EvaluationCell>& cells,
    const std::vector<std::string>& manifests, bool partial, absl::Time now) {
  LOCUS_ASSIGN_OR_RETURN(const EvaluationPlan plan,
                         server::ToEvaluationPlan(request));
  LOCUS_ASSIGN_OR_RETURN(const EvaluationJob job, MakeJob(plan));
  std::vector<EvaluationCell> core_cells;
  absl::c_transform(cells, std::back_inserter(core_cells), ToCore);
  EvaluationSummary summary = job.Summarize(core_cells);
  if (partial) summary.MarkPartial();
  v1::EvaluationSummary merged;
  server::ToProto(summary, &merged);
  merged.set_manifest_json(server::MakeManifest(plan, summary, now, manifests));
  return merged;
}

}  // namespace locus::client
