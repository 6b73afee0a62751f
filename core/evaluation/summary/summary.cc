#include "core/evaluation/summary/summary.h"

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/effective_length.h"
#include "core/evaluation/summary/gates.h"
#include "core/evaluation/summary/pattern_verdict.h"
#include "core/evaluation/summary/spread.h"
#include "core/evaluation/summary/trained_verdict.h"

namespace locus {
namespace {

void AddRows(const SummarySpec& spec, const CellTable& table,
             EvaluationSummary* summary) {
  for (const std::string& scheme : spec.scheme_names) {
    for (const int64_t length : spec.eval_lengths) {
      for (const auto& [metric, values] : table.Metrics(scheme, length)) {
        const MeanInterval mean = IntervalOf(values);
        summary->rows.push_back({scheme, length, metric, mean.mean, mean.low,
                                 mean.high, mean.count});
      }
    }
  }
}

void AddDifferences(const SummarySpec& spec, const CellTable& table,
                    EvaluationSummary* summary) {
  if (spec.scheme_names.empty()) return;
  const std::string& baseline = spec.scheme_names.front();
  for (const std::string& scheme : spec.scheme_names) {
    if (scheme == baseline) continue;
    for (const int64_t length : spec.eval_lengths) {
      for (const auto& [metric, values] : table.Metrics(scheme, length)) {
        const SeedValues differences =
            PairedDifference(values, table.At(baseline, length, metric));
        if (differences.empty()) continue;
        const MeanInterval mean = IntervalOf(differences);
        summary->differences.push_back({scheme, baseline, length, metric,
                                        mean.mean, mean.low, mean.high,
                                        mean.count});
      }
    }
  }
}

void AddTrainingCurves(absl::Span<const EvaluationCell> cells,
                       EvaluationSummary* summary) {
  for (const EvaluationCell& cell : cells) {
    if (!cell.training_curve) continue;
    summary->training_curves.push_back(*cell.training_curve);
  }
}

void AddOrderingAnswers(const SummarySpec& spec,
                        absl::Span<const EvaluationCell> cells,
                        EvaluationSummary* summary) {
  for (size_t n = 0; n < spec.questions.size(); ++n) {
    for (const std::string& scheme : spec.scheme_names) {
      SeedValues probabilities;
      for (const EvaluationCell& cell : cells) {
        if (cell.scheme_name != scheme ||
            cell.sorted_probabilities.size() <= n) {
          continue;
        }
        probabilities[cell.seed] = cell.sorted_probabilities[n];
      }
      if (probabilities.empty()) continue;
      const MeanInterval mean = IntervalOf(probabilities);
      summary->ordering_answers.push_back({scheme, spec.questions[n], mean.mean,
                                           mean.low, mean.high, mean.count});
    }
  }
}

EvaluationSummary RowsAndDifferences(const SummarySpec& spec,
                                     const CellTable& table) {
  EvaluationSummary summary;
  AddRows(spec, table, &summary);
  AddDifferences(spec, table, &summary);
  return summary;
}

}  // namespace

EvaluationSummary SummarizeTrained(const SummarySpec& spec,
                                   const LearnedCriterion& criterion,
                                   absl::Span<const EvaluationCell> cells) {
  const CellTable table(cells);
  EvaluationSummary summary = RowsAndDifferences(spec, table);
  summary.gates = ApplyGates(spec, criterion, table);
  summary.verdict = TrainedVerdict(spec, criterion, table, summary.gates);
  summary.effective_lengths =
      EffectiveLengths(spec, criterion, table, summary.gates);
  summary.spreads = SpreadsOf(spec, criterion, table);
  AddTrainingCurves(cells, &summary);
  AddOrderingAnswers(spec, cells, &summary);
  return summary;
}

EvaluationSummary SummarizePatterns(const SummarySpec& spec,
                                    absl::Span<const EvaluationCell> cells) {
  const CellTable table(cells);
  EvaluationSummary summary = RowsAndDifferences(spec, table);
  summary.verdict = PatternVerdict(spec, table);
  return summary;
}

}  // namespace locus
