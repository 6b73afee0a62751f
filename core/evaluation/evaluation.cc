#include "core/evaluation/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/evaluation/evaluation_plan.h"
#include "core/evaluation/tasks/tasks.h"

namespace locus {
namespace {

constexpr int64_t kMaxCells = 8192;
// Memory that a finished cell occupies until the end of the evaluation: its
// metrics (twice) and its share of rows and differences, as values, as messages
// and as text.
constexpr int64_t kBytesPerCell = 16 << 10;

}  // namespace

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

bool EvaluationJob::trains_once() const { return plan_->trains_once(); }

}  // namespace locus
