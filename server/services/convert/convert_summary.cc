// Conversion of the results of evaluations to protobuf messages.
#include <utility>

#include "server/services/convert/convert_evaluation.h"

namespace locus::server {
namespace {

// Sets the fields that rows and differences have in common.
template <typename Row, typename Proto>
void SetFigures(const Row& row, Proto* proto) {
  proto->set_scheme_name(row.scheme_name);
  proto->set_eval_length(row.eval_length);
  proto->set_metric(row.metric);
  proto->set_mean(row.mean);
  proto->set_ci_low(row.ci_low);
  proto->set_ci_high(row.ci_high);
  proto->set_count(row.count);
}

void ToProto(const EvaluationGate& gate, v1::EvaluationGate* proto) {
  proto->set_scheme_name(gate.scheme_name);
  proto->set_metric(gate.metric);
  proto->set_threshold(gate.threshold);
  proto->set_learned_share(gate.learned_share);
  proto->set_passed(gate.passed);
  proto->set_chance(gate.chance);
}

void ToProto(const EvaluationVerdict& verdict, v1::EvaluationVerdict* proto) {
  proto->set_kind(server::ToProto(verdict.kind));
  proto->set_winner(verdict.winner);
  proto->set_text(verdict.text);
  proto->set_next_step(verdict.next_step);
}

void ToProto(const EffectiveLength& effective, v1::EffectiveLength* proto) {
  proto->set_scheme_name(effective.scheme_name);
  proto->set_metric(effective.metric);
  proto->set_length(effective.length);
  proto->set_ci_low(effective.ci_low);
  proto->set_ci_high(effective.ci_high);
  proto->set_threshold(effective.threshold);
}

void ToProto(const EvaluationSpread& spread, v1::EvaluationSpread* proto) {
  proto->set_scheme_name(spread.scheme_name);
  proto->set_eval_length(spread.eval_length);
  proto->set_metric(spread.metric);
  proto->set_min(spread.min);
  proto->set_q25(spread.q25);
  proto->set_median(spread.median);
  proto->set_q75(spread.q75);
  proto->set_max(spread.max);
  if (spread.share_above_95) proto->set_share_above_95(*spread.share_above_95);
  proto->set_worst_seed(spread.worst_seed);
}

void ToProto(const TrainingCurve& curve, v1::TrainingCurve* proto) {
  proto->set_scheme_name(curve.scheme_name);
  proto->set_seed(curve.seed);
  proto->mutable_steps()->Add(curve.steps.begin(), curve.steps.end());
  proto->mutable_losses()->Add(curve.losses.begin(), curve.losses.end());
}

void ToProto(const OrderingAnswer& answer, v1::OrderingAnswer* proto) {
  proto->set_scheme_name(answer.scheme_name);
  proto->mutable_values()->Add(answer.values.begin(), answer.values.end());
  proto->set_probability(answer.probability);
  proto->set_ci_low(answer.ci_low);
  proto->set_ci_high(answer.ci_high);
  proto->set_count(answer.count);
}

}  // namespace

v1::VerdictKind ToProto(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kWinner:
      return v1::VERDICT_KIND_WINNER;
    case VerdictKind::kNoClearWinner:
      return v1::VERDICT_KIND_NO_CLEAR_WINNER;
    case VerdictKind::kAtChance:
      return v1::VERDICT_KIND_AT_CHANCE;
    case VerdictKind::kOneSeed:
      return v1::VERDICT_KIND_ONE_SEED;
    case VerdictKind::kNotLearned:
      return v1::VERDICT_KIND_NOT_LEARNED;
    case VerdictKind::kNoComparison:
      return v1::VERDICT_KIND_NO_COMPARISON;
    case VerdictKind::kPattern:
      return v1::VERDICT_KIND_PATTERN;
    case VerdictKind::kPartial:
      return v1::VERDICT_KIND_PARTIAL;
  }
  return v1::VERDICT_KIND_UNSPECIFIED;
}

void ToProto(const EvaluationProgress& progress, double remaining_seconds,
             v1::EvaluationProgress* proto) {
  proto->set_scheme_name(std::string(progress.scheme_name));
  proto->set_seed(progress.seed);
  proto->set_step(progress.step);
  proto->set_step_count(progress.step_count);
  proto->set_loss(progress.loss);
  proto->set_remaining_seconds(remaining_seconds);
}

void ToProto(EvaluationCell cell, v1::EvaluationCell* proto) {
  proto->set_scheme_name(std::move(cell.scheme_name));
  proto->set_seed(cell.seed);
  proto->set_eval_length(cell.eval_length);
  proto->mutable_metrics()->insert(cell.metrics.begin(), cell.metrics.end());
  if (cell.attention_map.has_value()) {
    ToProto(*cell.attention_map, proto->mutable_attention_map());
  }
  if (cell.training_curve.has_value()) {
    ToProto(*cell.training_curve, proto->mutable_training_curve());
  }
  proto->mutable_sorted_probabilities()->Add(cell.sorted_probabilities.begin(),
                                             cell.sorted_probabilities.end());
}

void ToProto(const EvaluationSummary& summary, v1::EvaluationSummary* proto) {
  for (const EvaluationRow& row : summary.rows) {
    SetFigures(row, proto->add_rows());
  }
  for (const EvaluationDifference& difference : summary.differences) {
    v1::EvaluationDifference* added = proto->add_differences();
    SetFigures(difference, added);
    added->set_baseline_name(difference.baseline_name);
  }
  for (const EvaluationGate& gate : summary.gates) {
    ToProto(gate, proto->add_gates());
  }
  ToProto(summary.verdict, proto->mutable_verdict());
  for (const EffectiveLength& effective : summary.effective_lengths) {
    ToProto(effective, proto->add_effective_lengths());
  }
  for (const EvaluationSpread& spread : summary.spreads) {
    ToProto(spread, proto->add_spreads());
  }
  for (const TrainingCurve& curve : summary.training_curves) {
    ToProto(curve, proto->add_training_curves());
  }
  for (const OrderingAnswer& answer : summary.ordering_answers) {
    ToProto(answer, proto->add_ordering_answers());
  }
  proto->set_winner(summary.verdict.winner);
  proto->set_reason(summary.verdict.Reason());
  proto->set_partial(summary.partial);
}

}  // namespace locus::server
