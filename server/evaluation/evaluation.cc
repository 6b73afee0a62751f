#include "server/evaluation/evaluation.h"

#include <utility>

#include "core/base/status.h"

namespace locus::server {
namespace {

class CoreEvaluation final : public Evaluation {
 public:
  explicit CoreEvaluation(EvaluationJob job) : job_(std::move(job)) {}

  double flops() const override { return job_.flops(); }
  std::string SuggestReduction(double max_flops) const override {
    return job_.SuggestReduction(max_flops);
  }
  int64_t scratch_bytes(int thread_count) const override {
    return job_.scratch_bytes(thread_count);
  }
  absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                        const CancellationCheck& stop,
                                        EvaluationSink& sink) const override {
    return job_.Run(pool, stop, sink);
  }

 private:
  const EvaluationJob job_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Evaluation>> MakeCoreEvaluation(
    EvaluationSettings settings, std::vector<EvaluatedScheme> schemes) {
  LOCUS_ASSIGN_OR_RETURN(
      EvaluationJob job,
      EvaluationJob::Create(std::move(settings), std::move(schemes)));
  return std::make_unique<CoreEvaluation>(std::move(job));
}

}  // namespace locus::server
