#include "core/evaluation/summary/summary.h"

#include "core/evaluation/summary/pattern_contest.h"
#include "core/evaluation/summary/results.h"
#include "core/evaluation/summary/trained_contest.h"

namespace locus {
namespace {

void AddRows(const SummaryQuestion& question, const Results& results,
             EvaluationSummary* summary) {
  for (const std::string& scheme : question.scheme_names) {
    for (const int64_t length : question.eval_lengths) {
      for (const auto& [metric, values] : results.Metrics(scheme, length)) {
        const MeanInterval mean = IntervalOf(values);
        summary->rows.push_back({scheme, length, metric, mean.mean, mean.low,
                                 mean.high, mean.count});
      }
    }
  }
}

void AddDifferences(const SummaryQuestion& question, const Results& results,
                    EvaluationSummary* summary) {
  if (question.scheme_names.empty()) return;
  const std::string& baseline = question.scheme_names.front();
  for (const std::string& scheme : question.scheme_names) {
    if (scheme == baseline) continue;
    for (const int64_t length : question.eval_lengths) {
      for (const auto& [metric, values] : results.Metrics(scheme, length)) {
        const Values differences =
            Difference(values, results.At(baseline, length, metric));
        if (differences.empty()) continue;
        const MeanInterval mean = IntervalOf(differences);
        summary->differences.push_back({scheme, baseline, length, metric,
                                        mean.mean, mean.low, mean.high,
                                        mean.count});
      }
    }
  }
}

EvaluationSummary RowsAndDifferences(const SummaryQuestion& question,
                                     const Results& results) {
  EvaluationSummary summary;
  AddRows(question, results, &summary);
  AddDifferences(question, results, &summary);
  return summary;
}

}  // namespace

EvaluationSummary SummarizeTrained(const SummaryQuestion& question,
                                   const LearnedWhen& learned_when,
                                   absl::Span<const EvaluationCell> cells) {
  const Results results(cells);
  EvaluationSummary summary = RowsAndDifferences(question, results);
  DecideTrained(question, learned_when, results, &summary);
  return summary;
}

EvaluationSummary SummarizePatterns(const SummaryQuestion& question,
                                    absl::Span<const EvaluationCell> cells) {
  const Results results(cells);
  EvaluationSummary summary = RowsAndDifferences(question, results);
  DecidePatterns(question, results, &summary);
  return summary;
}

}  // namespace locus
