#include "core/evaluation/summary/summary.h"

#include "core/evaluation/summary/cell_table.h"
#include "core/evaluation/summary/pattern_ranking.h"
#include "core/evaluation/summary/trained_ranking.h"

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
  DecideTrainedWinner(spec, criterion, table, &summary);
  return summary;
}

EvaluationSummary SummarizePatterns(const SummarySpec& spec,
                                    absl::Span<const EvaluationCell> cells) {
  const CellTable table(cells);
  EvaluationSummary summary = RowsAndDifferences(spec, table);
  DecidePatternWinner(spec, table, &summary);
  return summary;
}

}  // namespace locus
