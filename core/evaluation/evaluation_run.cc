// Execution of an evaluation: training, tests and the summary.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/evaluation/evaluation_plan.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/tasks/ordering.h"

namespace locus {
namespace {

// Records the losses of one training run in at most kMaxPoints points, each of
// which is the mean of the steps since the one before it.
class CurveRecorder {
 public:
  CurveRecorder(const std::string& scheme_name, uint64_t seed,
                int64_t step_count)
      : step_count_(step_count) {
    curve_.scheme_name = scheme_name;
    curve_.seed = seed;
  }

  // Adds the loss of a step, counted from 1.
  void Add(int64_t step, double loss) {
    sum_ += loss;
    ++count_;
    const int64_t points = std::min(kMaxPoints, step_count_);
    if (step * points / step_count_ == (step - 1) * points / step_count_) {
      return;
    }
    curve_.steps.push_back(step);
    curve_.losses.push_back(sum_ / static_cast<double>(count_));
    sum_ = 0;
    count_ = 0;
  }

  const TrainingCurve& curve() const { return curve_; }

 private:
  static constexpr int64_t kMaxPoints = 50;
  const int64_t step_count_;
  TrainingCurve curve_;
  double sum_ = 0;
  int64_t count_ = 0;
};

ModelScheme ModelOf(const EvaluatedScheme& evaluated) {
  ModelScheme model(*evaluated.scheme);
  if (!evaluated.layers.empty()) model.layers.clear();
  for (const EvaluatedLayer& layer : evaluated.layers) {
    model.layers.push_back(
        {.scheme = layer.scheme.get(), .window = layer.window});
  }
  model.randomization = evaluated.randomization;
  model.randomizes_tests = evaluated.randomizes_tests;
  return model;
}

}  // namespace

absl::StatusOr<EvaluationSummary> EvaluationJob::Run(
    ThreadPool& pool, const CancellationCheck& stop,
    EvaluationSink& sink) const {
  const EvaluationSettings& settings = plan_->settings;
  Plan::RunContext run{pool, stop, sink, Plan::ProgressMeter(flops())};
  absl::Status status;
  // Seeds are the outermost loop, so that a partial result compares all
  // schemes.
  for (int64_t s = 0; s < settings.seed_count && status.ok(); ++s) {
    run.trainer.reset();
    for (size_t n = 0; n < plan_->schemes.size() && status.ok(); ++n) {
      status =
          plan_->RunScheme(n, settings.seed + static_cast<uint64_t>(s), run);
    }
  }
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) return status;
  EvaluationSummary summary = plan_->Summarize(run.cells);
  if (!status.ok()) summary.MarkPartial();
  return summary;
}

EvaluationSummary EvaluationJob::Summarize(
    absl::Span<const EvaluationCell> cells) const {
  return plan_->Summarize(cells);
}

void EvaluationJob::Plan::RunContext::Finish(EvaluationCell cell) {
  cells.push_back(cell);
  // Maps are large, and the summary does not use them.
  cells.back().attention_map.reset();
  sink.OnCell(std::move(cell));
}

absl::Status EvaluationJob::Plan::RunScheme(size_t scheme, uint64_t seed,
                                            RunContext& run) const {
  if (pattern() != nullptr) {
    for (const int64_t length : settings.eval_lengths) {
      LOCUS_ASSIGN_OR_RETURN(
          EvaluationCell cell,
          MeasurePattern(PatternCaseFor(scheme, length, seed), run.pool,
                         run.stop));
      run.meter.Add(PatternFlops(*pattern(), length));
      run.Finish(std::move(cell));
    }
    return absl::OkStatus();
  }
  std::optional<TrainingCurve> curve;
  if (scheme == 0 || !trains_once()) {
    LOCUS_ASSIGN_OR_RETURN(curve, Train(scheme, seed, run));
  }
  LOCUS_ASSIGN_OR_RETURN(std::vector<double> answers, Ask(scheme, run));
  for (size_t n = 0; n < settings.eval_lengths.size(); ++n) {
    LOCUS_ASSIGN_OR_RETURN(
        EvaluationCell cell,
        TestModel(scheme, seed, settings.eval_lengths[n], run));
    if (n == 0) {
      cell.training_curve = std::move(curve);
      cell.sorted_probabilities = std::move(answers);
    }
    run.meter.Add(tests[n].flops + ParameterFlops());
    run.Finish(std::move(cell));
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingCurve> EvaluationJob::Plan::Train(
    size_t scheme, uint64_t seed, RunContext& run) const {
  CurveRecorder recorder(schemes[scheme].name, seed, options.step_count);
  LOCUS_ASSIGN_OR_RETURN(
      run.trainer,
      Trainer<float>::Create(shape, ModelOf(schemes[scheme]), options,
                             settings.train_length, seed));
  for (int64_t step = 0; step < options.step_count; ++step) {
    const auto batch = task->TrainingBatch(
        seed, step, trained().training.batch_size, settings.train_length);
    LOCUS_ASSIGN_OR_RETURN(const double loss,
                           run.trainer->Step(batch, run.pool, run.stop));
    run.meter.Add(StepFlops());
    recorder.Add(step + 1, loss);
    run.sink.OnProgress({.scheme_name = schemes[scheme].name,
                         .seed = seed,
                         .step = step + 1,
                         .step_count = options.step_count,
                         .loss = loss,
                         .done_share = run.meter.share()});
  }
  return recorder.curve();
}

absl::StatusOr<std::vector<double>> EvaluationJob::Plan::Ask(
    size_t scheme, RunContext& run) const {
  std::vector<double> probabilities;
  std::vector<Example> examples;
  for (const std::vector<int64_t>& values : trained().questions) {
    examples.push_back(MakeOrderingQuestion(values));
  }
  if (examples.empty()) return probabilities;
  LOCUS_RETURN_IF_ERROR(run.trainer->TestWithScheme(
      ModelOf(schemes[scheme]), examples, run.pool, run.stop,
      [&](const Example&, absl::Span<const float> logits) {
        probabilities.push_back(SortedProbability(logits));
      }));
  return probabilities;
}

absl::StatusOr<EvaluationCell> EvaluationJob::Plan::TestModel(
    size_t scheme, uint64_t seed, int64_t length, RunContext& run) const {
  const auto examples = task->Test(seed, length, settings.train_length);
  const auto scorer = task->MakeScorer(length, settings.train_length);
  LOCUS_RETURN_IF_ERROR(run.trainer->TestWithScheme(
      ModelOf(schemes[scheme]), examples, run.pool, run.stop,
      [&](const Example& example, absl::Span<const float> logits) {
        scorer->Add(example, logits);
      }));
  EvaluationCell cell;
  cell.scheme_name = schemes[scheme].name;
  cell.seed = seed;
  cell.eval_length = length;
  cell.metrics = scorer->Metrics();
  return cell;
}

EvaluationSummary EvaluationJob::Plan::Summarize(
    absl::Span<const EvaluationCell> cells) const {
  SummarySpec spec;
  for (const EvaluatedScheme& scheme : schemes) {
    spec.scheme_names.push_back(scheme.name);
  }
  spec.eval_lengths = settings.eval_lengths;
  spec.train_length = settings.train_length;
  spec.seed_count = settings.seed_count;
  if (pattern() != nullptr) return SummarizePatterns(spec, cells);
  spec.step_count = options.step_count;
  spec.shares_model = trains_once();
  spec.questions = trained().questions;
  return SummarizeTrained(spec, task->learned_criterion(), cells);
}

}  // namespace locus
