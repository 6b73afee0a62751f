// Measures extrapolation: the behaviour of position schemes past the length
// they were trained for.
//
// There are two modes. Pattern mode measures one seeded, untrained attention
// layer. Trained mode trains a small transformer from scratch for every scheme
// and seed at one length and tests it at others. All schemes see the same data
// in the same order, and start from the same weights where shapes agree.
//
//   EvaluationSettings settings = ...;
//   LOCUS_RETURN_IF_ERROR(FillDefaults(&settings));
//   // Make the schemes with TrainingSettingOf(settings).
//   auto job = EvaluationJob::Create(settings, schemes);
//   auto summary = job->Run(pool, stop, sink);
//
// Equal settings produce bit-identical results on one instruction set, for any
// number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/evaluation/types/results.h"
#include "core/evaluation/types/settings.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// A validated evaluation whose cost is known, but which has not allocated large
// memory yet. Const methods are thread-safe.
class EvaluationJob {
 public:
  // Requires settings with defaults filled. Field paths of errors in scheme n
  // begin with `schemes[n]`, such as `schemes[2].rope.rotary_dim`.
  static absl::StatusOr<EvaluationJob> Create(
      EvaluationSettings settings, std::vector<EvaluatedScheme> schemes);
  EvaluationJob(EvaluationJob&&) noexcept;
  EvaluationJob& operator=(EvaluationJob&&) noexcept;
  ~EvaluationJob();

  // Estimated work, in multiplications and additions.
  double flops() const;
  // Suggests a smaller request that needs at most max_flops, such as "a
  // trained.training.step_count of 120 would fit".
  std::string SuggestReduction(double max_flops) const;
  // Upper bound of the memory of Run() with that many threads, in bytes.
  int64_t scratch_bytes(int thread_count) const;

  // Runs the evaluation and reports progress and cells to `sink`. `stop` is
  // polled every few milliseconds. If it returns DEADLINE_EXCEEDED, Run()
  // returns a summary of the finished cells, marked as partial. Any other
  // status of `stop` is returned.
  absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                        const CancellationCheck& stop,
                                        EvaluationSink& sink) const;

  // Whether one model is trained per seed and tested with all schemes. The
  // schemes of a seed then cannot be evaluated by different jobs.
  bool trains_once() const;
  // Summarizes cells that other jobs produced, as Run() would. The cells must
  // be in the order of Run(): by seed, then by scheme, then by length. The
  // caller calls MarkPartial() if cells are missing.
  EvaluationSummary Summarize(absl::Span<const EvaluationCell> cells) const;

 private:
  struct Plan;
  explicit EvaluationJob(std::unique_ptr<Plan> plan);

  std::unique_ptr<Plan> plan_;
};

}  // namespace locus
