// Cells for tests of summaries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/evaluation/summary/summary.h"
#include "core/training/task.h"

namespace locus {

inline constexpr LearnedCriterion kAccuracy{
    .metric = "accuracy", .threshold = 0.9, .chance = 0.5};
inline constexpr LearnedCriterion kLoss{
    .metric = "nll",
    .higher_is_better = false,
    .threshold = 2,
    .chance = 3,
    .chance_name = "byte frequencies alone"};

inline EvaluationCell Cell(const std::string& scheme, uint64_t seed,
                           int64_t length,
                           std::map<std::string, double> metrics) {
  EvaluationCell cell;
  cell.scheme_name = scheme;
  cell.seed = seed;
  cell.eval_length = length;
  cell.metrics = std::move(metrics);
  return cell;
}

inline SummarySpec Spec(std::vector<std::string> schemes,
                        std::vector<int64_t> lengths = {64, 128, 256}) {
  return {.scheme_names = std::move(schemes),
          .eval_lengths = std::move(lengths),
          .train_length = 64,
          .seed_count = 3,
          .step_count = 100};
}

// Adds cells of one scheme at one length, with the seeds 7, 8, ....
inline void Add(const std::string& scheme, int64_t length,
                const std::string& metric, const std::vector<double>& values,
                std::vector<EvaluationCell>* cells) {
  for (size_t n = 0; n < values.size(); ++n) {
    cells->push_back(Cell(scheme, 7 + n, length, {{metric, values[n]}}));
  }
}

}  // namespace locus
