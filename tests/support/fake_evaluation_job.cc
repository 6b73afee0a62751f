#include "tests/support/fake_evaluation_job.h"

#include <thread>
#include <utility>

namespace locus::server {
namespace {

class FakeEvaluation final : public Evaluation {
 public:
  explicit FakeEvaluation(const FakeEvaluationJob* job) : job_(*job) {}

  double flops() const override { return job_.flops; }
  std::string SuggestReduction(double) const override {
    return "half of it would fit";
  }
  int64_t scratch_bytes(int) const override { return job_.scratch_bytes; }
  absl::StatusOr<EvaluationSummary> Run(ThreadPool& pool,
                                        const CancellationCheck& stop,
                                        EvaluationSink& sink) const override {
    return job_.run(pool, stop, sink);
  }

 private:
  const FakeEvaluationJob& job_;
};

}  // namespace

MakeEvaluation MakeFakeEvaluation(const FakeEvaluationJob* job) {
  return [job](const EvaluationSettings&, const std::vector<EvaluatedScheme>&) {
    return std::make_unique<FakeEvaluation>(job);
  };
}

absl::StatusOr<EvaluationSummary> ResultWhenStopped(
    const absl::Status& status) {
  if (!absl::IsDeadlineExceeded(status)) return status;
  EvaluationSummary summary;
  summary.partial = true;
  return summary;
}

absl::StatusOr<EvaluationSummary> RunUntilStopped(ThreadPool&,
                                                  const CancellationCheck& stop,
                                                  EvaluationSink& sink) {
  sink.OnCell(MakeCell());
  for (;;) {
    if (const absl::Status status = stop(); !status.ok()) {
      return ResultWhenStopped(status);
    }
    std::this_thread::yield();
  }
}

EvaluationCell MakeCell(int64_t map_bytes) {
  EvaluationCell cell;
  cell.scheme_name = "rope";
  cell.seed = 7;
  cell.eval_length = 128;
  for (char c = 'a'; c <= 'z'; ++c) cell.metrics[std::string(8, c)] = c / 3.0;
  if (map_bytes > 0) {
    cell.attention_map = Tensor::Zeros(DType::kBool, {map_bytes});
  }
  return cell;
}

v1::EvaluateExtrapolationRequest PatternRequest() {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_pattern();
  return request;
}

}  // namespace locus::server
