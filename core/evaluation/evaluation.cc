#include "core/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/evaluation/summary/summary.h"
#include "core/evaluation/tasks/tasks.h"
#include "core/training/trainer.h"

namespace locus {
namespace {

constexpr int64_t kMaxCells = 8192;
// Memory that a finished cell occupies until the end of the evaluation: its
// metrics (twice) and its share of rows and differences, as values, as messages
// and as text.
constexpr int64_t kBytesPerCell = 16 << 10;

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

// Returns the layers of a scheme without repetitions of the same Scheme object.
std::vector<EvaluatedLayer> DistinctLayers(const EvaluatedScheme& evaluated) {
  std::vector<EvaluatedLayer> distinct;
  for (const EvaluatedLayer& layer : evaluated.layers) {
    const bool known = absl::c_any_of(distinct, [&](const auto& other) {
      return other.scheme == layer.scheme;
    });
    if (!known) distinct.push_back(layer);
  }
  if (distinct.empty()) distinct.push_back({.scheme = evaluated.scheme});
  return distinct;
}

}  // namespace

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
  absl::Status Train(size_t scheme, uint64_t seed, RunContext& run) const;
  absl::StatusOr<EvaluationCell> TestModel(size_t scheme, uint64_t seed,
                                           int64_t length,
                                           RunContext& run) const;
  EvaluationSummary Summarize(absl::Span<const EvaluationCell> cells) const;
};

// Checks the layers and the random positions of a scheme, without compiling it.
absl::Status EvaluationJob::Plan::CheckLayersAndPositions(
    const EvaluatedScheme& evaluated) const {
  if (pattern() != nullptr) {
    constexpr absl::string_view kUntrained =
        "is set; pattern mode has a single layer and no training";
    if (!evaluated.layers.empty()) {
      return InvalidField("scheme.layers", kUntrained);
    }
    if (evaluated.randomization) {
      return InvalidField("scheme.randomized", kUntrained);
    }
    return absl::OkStatus();
  }
  const auto period = static_cast<int64_t>(evaluated.layers.size());
  if (period > shape.layer_count) {
    return InvalidField(
        "scheme.layers.period",
        absl::StrCat("is ", period, "; the model has ", shape.layer_count,
                     " layers, so that some entries would not be used; "
                     "increase trained.model.layer_count"));
  }
  if (!evaluated.randomization) return absl::OkStatus();
  const int64_t maximum = evaluated.randomization->maximum;
  const int64_t needed = evaluated.randomizes_tests
                             ? settings.eval_lengths.back()
                             : settings.train_length;
  if (maximum < needed || maximum > kMaxRandomized) {
    return InvalidField(
        "scheme.randomized.maximum",
        absl::StrCat("is ", maximum, "; must be from ", needed, ", the longest",
                     evaluated.randomizes_tests ? "" : " training",
                     " sequence, to ", kMaxRandomized));
  }
  return absl::OkStatus();
}

// Checks that a scheme can be tested with a model that was trained with
// rotations: all layers must rotate, or some of them have no positions.
absl::Status EvaluationJob::Plan::CheckRotations(
    const EvaluatedScheme& evaluated) const {
  const auto layers = DistinctLayers(evaluated);
  for (const EvaluatedLayer& layer : layers) {
    const Site site = layer.scheme->site();
    if (site == Site::kQueriesAndKeys) continue;
    if (site == Site::kNone && layers.size() > 1) continue;
    return InvalidField(layer.field,
                        absl::StrCat("is ", layer.scheme->name(),
                                     "; a model trained with rotated queries "
                                     "and keys can only be tested with schemes "
                                     "that rotate them"));
  }
  return absl::OkStatus();
}

// Checks that a scheme fits the model at the largest length, and hence at all.
absl::Status EvaluationJob::Plan::CheckScheme(size_t n) {
  const EvaluatedScheme& evaluated = schemes[n];
  int64_t length = settings.eval_lengths.back();
  LOCUS_RETURN_IF_ERROR(CheckLayersAndPositions(evaluated));
  if (pattern() != nullptr) {
    return CheckPattern(PatternCaseFor(n, length, settings.seed));
  }
  if (trains_once()) LOCUS_RETURN_IF_ERROR(CheckRotations(evaluated));
  if (evaluated.randomization) {
    length = std::max(length, evaluated.randomization->maximum);
  }
  int64_t parameter_count = 0;
  for (const EvaluatedLayer& layer : DistinctLayers(evaluated)) {
    const auto count =
        PositionTables<float>::ParameterCount(*layer.scheme, shape, length);
    if (!count.ok()) return Renamed("scheme", layer.field, count.status());
    parameter_count += *count;
  }
  scheme_size = std::max(scheme_size, parameter_count);
  return absl::OkStatus();
}

absl::StatusOr<EvaluationJob> EvaluationJob::Create(
    EvaluationSettings settings, std::vector<EvaluatedScheme> schemes) {
  auto plan = std::make_unique<Plan>();
  plan->settings = std::move(settings);
  plan->schemes = std::move(schemes);
  if (plan->pattern() == nullptr) {
    const TrainedSettings& trained = plan->trained();
    LOCUS_ASSIGN_OR_RETURN(plan->task, MakeTask(trained.task, trained.corpus));
    plan->shape = {.dim = trained.model.dim,
                   .layer_count = trained.model.layer_count,
                   .head_count = trained.model.head_count,
                   .feed_forward_dim = trained.model.feed_forward_dim,
                   .vocabulary_size = plan->task->vocabulary_size(),
                   .causal = *trained.model.causal};
    plan->options = {.step_count = trained.training.step_count,
                     .learning_rate = *trained.training.learning_rate,
                     .warmup_step_count = *trained.training.warmup_step_count,
                     .weight_decay = *trained.training.weight_decay,
                     .clip_norm = *trained.training.clip_norm};
    for (const int64_t length : plan->settings.eval_lengths) {
      plan->tests.push_back(plan->CostOfTest(length));
    }
  }
  const int64_t cell_count = plan->CellCount();
  if (cell_count > kMaxCells) {
    return LimitExceeded(
        "schemes", "max_evaluation_cells",
        absl::StrCat("result in ", cell_count,
                     " cells with all lengths and seeds; at most ", kMaxCells,
                     " are evaluated in one call"));
  }
  for (size_t n = 0; n < plan->schemes.size(); ++n) {
    const absl::Status checked = plan->CheckScheme(n);
    if (!checked.ok()) {
      return Renamed("scheme", absl::StrCat("schemes[", n, "]"), checked);
    }
  }
  return EvaluationJob(std::move(plan));
}

EvaluationJob::EvaluationJob(std::unique_ptr<Plan> plan)
    : plan_(std::move(plan)) {}
EvaluationJob::EvaluationJob(EvaluationJob&&) noexcept = default;
EvaluationJob& EvaluationJob::operator=(EvaluationJob&&) noexcept = default;
EvaluationJob::~EvaluationJob() = default;

double EvaluationJob::flops() const {
  if (plan_->pattern() == nullptr) {
    return plan_->training_count() *
               static_cast<double>(plan_->options.step_count) *
               plan_->StepFlops() +
           plan_->run_count() * plan_->TestFlops();
  }
  double run = 0;
  for (const int64_t length : plan_->settings.eval_lengths) {
    run += PatternFlops(*plan_->pattern(), length);
  }
  return plan_->run_count() * run;
}

std::string EvaluationJob::SuggestReduction(double max_flops) const {
  constexpr absl::string_view kFewer =
      "fewer schemes or seeds, or shorter eval_lengths";
  if (plan_->pattern() != nullptr) {
    return absl::StrCat("ask for ", kFewer);
  }
  const double steps =
      std::floor((max_flops - plan_->run_count() * plan_->TestFlops()) /
                 (plan_->training_count() * plan_->StepFlops()));
  if (steps < 1)
    return absl::StrCat("ask for ", kFewer, ", or a smaller model");
  return absl::StrCat("a trained.training.step_count of ",
                      static_cast<int64_t>(std::min(steps, 1e6)),
                      " would fit, or ask for ", kFewer);
}

int64_t EvaluationJob::scratch_bytes(int thread_count) const {
  const EvaluationSettings& settings = plan_->settings;
  int64_t bytes = 0;
  const int64_t cells = plan_->CellCount() * kBytesPerCell;
  if (plan_->pattern() != nullptr) {
    for (const int64_t length : settings.eval_lengths) {
      bytes = std::max(bytes, PatternScratchBytes(*plan_->pattern(), length));
    }
    return bytes + cells;
  }
  for (const Plan::TestCost& test : plan_->tests) {
    const int64_t examples =
        test.token_count *
        static_cast<int64_t>(sizeof(int32_t) + sizeof(Target));
    bytes = std::max(bytes, examples + Trainer<float>::TestBytes(
                                           plan_->shape, test.length,
                                           test.max_targets, thread_count));
  }
  const int64_t longest = *absl::c_max_element(settings.eval_lengths);
  int64_t tables = 0;
  for (const EvaluatedScheme& each : plan_->schemes) {
    int64_t scheme_tables = 0;
    for (const EvaluatedLayer& layer : DistinctLayers(each)) {
      scheme_tables += Trainer<float>::TableBytes(
          plan_->shape, settings.train_length, longest);
      if (layer.scheme->is_pairwise() || each.randomization) {
        scheme_tables += Trainer<float>::PairwiseBytes(
            plan_->shape, settings.train_length, longest);
      }
    }
    tables = std::max(tables, scheme_tables);
  }
  bytes += tables;
  // The job and its task each hold the corpus.
  const int64_t corpus =
      2 * static_cast<int64_t>(plan_->trained().corpus.size());
  return bytes + cells + corpus +
         Trainer<float>::TrainingBytes(plan_->shape, settings.train_length,
                                       plan_->scheme_size);
}

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

bool EvaluationJob::trains_once() const { return plan_->trains_once(); }

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
  if (scheme == 0 || !trains_once()) {
    LOCUS_RETURN_IF_ERROR(Train(scheme, seed, run));
  }
  for (size_t n = 0; n < settings.eval_lengths.size(); ++n) {
    LOCUS_ASSIGN_OR_RETURN(
        EvaluationCell cell,
        TestModel(scheme, seed, settings.eval_lengths[n], run));
    run.meter.Add(tests[n].flops + ParameterFlops());
    run.Finish(std::move(cell));
  }
  return absl::OkStatus();
}

absl::Status EvaluationJob::Plan::Train(size_t scheme, uint64_t seed,
                                        RunContext& run) const {
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
    run.sink.OnProgress({.scheme_name = schemes[scheme].name,
                         .seed = seed,
                         .step = step + 1,
                         .step_count = options.step_count,
                         .loss = loss,
                         .done_share = run.meter.share()});
  }
  return absl::OkStatus();
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
  return pattern() != nullptr
             ? SummarizePatterns(spec, cells)
             : SummarizeTrained(spec, task->learned_criterion(), cells);
}

}  // namespace locus
