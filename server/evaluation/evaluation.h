// An evaluation as the server sees it: its cost, and a way to run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/evaluation/evaluation.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus::server {

// Interface of an evaluation, with the members of core's EvaluationJob that the
// server uses; see core/evaluation/evaluation.h for their meaning. Tests
// implement it with fakes. Thread-safe.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  virtual double flops() const = 0;
  virtual std::string SuggestReduction(double max_flops) const = 0;
  virtual int64_t scratch_bytes(int thread_count) const = 0;
  virtual absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                                const CancellationCheck& stop,
                                                EvaluationSink& sink) const = 0;
};

// Creates an evaluation, or returns why the settings or schemes are invalid.
using MakeEvaluation =
    std::function<absl::StatusOr<std::unique_ptr<Evaluation>>(
        EvaluationSettings settings, std::vector<EvaluatedScheme> schemes)>;

// Creates an evaluation that runs an EvaluationJob of core.
absl::StatusOr<std::unique_ptr<Evaluation>> MakeCoreEvaluation(
    EvaluationSettings settings, std::vector<EvaluatedScheme> schemes);

}  // namespace locus::server
