// An evaluation as the server sees it: its price, and a way to run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/evaluation/evaluation.h"

namespace locus::server {

// What is used of core's EvaluationJob, which has the meaning of each. Tests
// put others in its place.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  virtual double flops() const = 0;
  virtual std::string WhatFits(double max_flops) const = 0;
  virtual int64_t scratch_bytes(int thread_count) const = 0;
  virtual absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                                const StopCheck& stop,
                                                EvaluationSink& sink) const = 0;
};

using MakeEvaluation =
    std::function<absl::StatusOr<std::unique_ptr<Evaluation>>(
        EvaluationSettings settings, std::vector<EvaluatedScheme> schemes)>;

// Core's.
absl::StatusOr<std::unique_ptr<Evaluation>> MakeCoreEvaluation(
    EvaluationSettings settings, std::vector<EvaluatedScheme> schemes);

}  // namespace locus::server
