// The plan of an evaluation: its validated settings, schemes and costs.
// Internal to EvaluationJob, whose methods are in several files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/evaluation/evaluation.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/training/task.h"
#include "core/training/trainer.h"

namespace locus {

// Returns the layers of a scheme without repetitions of the same Scheme object.
std::vector<EvaluatedLayer> DistinctLayers(const EvaluatedScheme& evaluated);

struct EvaluationJob::Plan {
  // Tracks which share of the total work is done.
  class ProgressMeter {
   public:
    explicit ProgressMeter(double total) : total_(total) {}
    void Add(double amount) { done_ += amount; }
    double share() const {
      return total_ > 0 ? std::min(1.0, done_ / total_) : 1;
    }

   private:
    const double total_;
    double done_ = 0;
  };

  // Cost of the tests at one length, which does not depend on the seed.
  struct TestCost {
    double flops = 0;
    int64_t length = 0;
    int64_t max_targets = 0;
    int64_t token_count = 0;
  };

  EvaluationSettings settings;
  std::vector<EvaluatedScheme> schemes;
  // The members below are set in trained mode only.
  std::unique_ptr<Task> task;
  TransformerShape shape;
  TrainerOptions options;
  std::vector<TestCost> tests;  // in the order of eval_lengths
  int64_t scheme_size = 0;      // max number of learned parameters of a scheme

  const PatternSettings* pattern() const {
    return std::get_if<PatternSettings>(&settings.mode);
  }
  const TrainedSettings& trained() const {
    return std::get<TrainedSettings>(settings.mode);
  }
  int64_t CellCount() const {
    return static_cast<int64_t>(schemes.size()) * settings.seed_count *
           static_cast<int64_t>(settings.eval_lengths.size());
  }
  double run_count() const {
    return static_cast<double>(settings.seed_count) *
           static_cast<double>(schemes.size());
  }
  // Work per step that is proportional to the number of parameters: clearing,
  // summing, updating and packing. It is bound by memory bandwidth, and is
  // expressed as the multiplications that take the same time.
  double ParameterFlops() const {
    constexpr double kFlopsPerWeight = 1000;
    constexpr double kFlopsPerSchemeParameter = 4000;
    return kFlopsPerWeight * static_cast<double>(
                                 TransformerLayout(shape, scheme_size).size()) +
           kFlopsPerSchemeParameter * static_cast<double>(scheme_size);
  }
  double StepFlops() const {
    return 3 * static_cast<double>(trained().training.batch_size) *
               shape.ForwardFlops(settings.train_length) +
           ParameterFlops() + RandomPositionFlops();
  }
  TestCost CostOfTest(int64_t length) const {
    const TestSize size = task->SizeOfTest(length, settings.train_length);
    return {.flops = static_cast<double>(size.example_count) *
                     shape.ForwardFlops(length),
            .length = length,
            .max_targets = size.targets_per_example,
            .token_count = size.example_count * length};
  }
  // Work of the tests of one scheme and seed, including initialization.
  double TestFlops() const {
    double flops = 2 * ParameterFlops();
    for (const TestCost& test : tests) flops += test.flops + ParameterFlops();
    return flops;
  }
  PatternCase PatternCaseFor(size_t scheme, int64_t length,
                             uint64_t seed) const {
    return {.scheme = schemes[scheme],
            .settings = *pattern(),
            .train_length = settings.train_length,
            .eval_length = length,
            .seed = seed};
  }

  absl::Status CheckScheme(size_t n);
  absl::Status CheckLayersAndPositions(const EvaluatedScheme& evaluated) const;
  absl::Status CheckRotations(const EvaluatedScheme& evaluated) const;
  // Work per step of randomized positions, which need a bias for every pair of
  // tokens.
  double RandomPositionFlops() const {
    constexpr double kFlopsPerBias = 100;
    const bool randomized = absl::c_any_of(schemes, [](const auto& each) {
      return each.randomization.has_value();
    });
    const auto length = static_cast<double>(settings.train_length);
    return randomized ? kFlopsPerBias * static_cast<double>(shape.head_count) *
                            length * length
                      : 0;
  }
  bool trains_once() const { return task != nullptr && task->trains_once(); }
  // Number of models that are trained.
  double training_count() const {
    return trains_once() ? static_cast<double>(settings.seed_count)
                         : run_count();
  }

  // Arguments and state of one call of EvaluationJob::Run().
  struct RunContext {
    ThreadPool& pool;
    const CancellationCheck& stop;
    EvaluationSink& sink;
    ProgressMeter meter;
    std::vector<EvaluationCell> cells = {};
    // The last model that was trained. If trains_once(), all schemes of a seed
    // use it.
    std::unique_ptr<Trainer<float>> trainer = nullptr;

    // Keeps a cell for the summary and reports it to the sink.
    void Finish(EvaluationCell cell);
  };
  // Trains, if necessary, and tests one scheme with one seed at all lengths.
  absl::Status RunScheme(size_t scheme, uint64_t seed, RunContext& run) const;
  // Trains a model and returns its losses.
  absl::StatusOr<TrainingCurve> Train(size_t scheme, uint64_t seed,
                                      RunContext& run) const;
  // Asks the trained model whether the sequences of the settings are sorted.
  absl::StatusOr<std::vector<double>> Ask(size_t scheme, RunContext& run) const;
  absl::StatusOr<EvaluationCell> TestModel(size_t scheme, uint64_t seed,
                                           int64_t length,
                                           RunContext& run) const;
  EvaluationSummary Summarize(absl::Span<const EvaluationCell> cells) const;
};

}  // namespace locus
