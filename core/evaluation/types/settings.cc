#include "core/evaluation/types/settings.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/evaluation/tasks/ordering.h"
#include "core/evaluation/tasks/tasks.h"

namespace locus {
namespace {

constexpr int64_t kMaxTrainLength = 2048;
constexpr int64_t kMaxEvalLength = 16384;
constexpr int64_t kMaxEvalLengths = 32;
constexpr int64_t kMaxSeeds = 64;
constexpr size_t kMaxQuestions = 16;

// Replaces 0 by the default, and checks that the value is in [min, max].
absl::Status Resolve(absl::string_view field, int64_t default_value,
                     int64_t min, int64_t max, int64_t* value) {
  if (*value == 0) *value = default_value;
  if (*value >= min && *value <= max) return absl::OkStatus();
  return InvalidField(
      field, absl::StrCat("is ", *value, "; must be from ", min, " to ", max));
}

absl::Status Resolve(absl::string_view field, double default_value, double min,
                     double max, std::optional<double>* value) {
  if (!value->has_value()) *value = default_value;
  if (**value >= min && **value <= max) return absl::OkStatus();
  return InvalidField(
      field, absl::StrCat("is ", **value, "; must be from ", min, " to ", max));
}

absl::Status CheckHeads(absl::string_view prefix, int64_t dim,
                        int64_t head_count) {
  if (dim % head_count == 0) return absl::OkStatus();
  return InvalidField(
      absl::StrCat(prefix, ".head_count"),
      absl::StrCat("is ", head_count, "; must divide the width ", dim));
}

absl::Status Fill(PatternSettings* pattern) {
  LOCUS_RETURN_IF_ERROR(Resolve("pattern.dim", 32, 1, 1024, &pattern->dim));
  LOCUS_RETURN_IF_ERROR(
      Resolve("pattern.head_count", 2, 1, 64, &pattern->head_count));
  LOCUS_RETURN_IF_ERROR(
      CheckHeads("pattern", pattern->dim, pattern->head_count));
  return Resolve("pattern.map_size", 0, 0, 256, &pattern->map_size);
}

absl::Status Fill(const Task& task, ModelSettings* model) {
  LOCUS_RETURN_IF_ERROR(Resolve("trained.model.dim", 64, 4, 256, &model->dim));
  LOCUS_RETURN_IF_ERROR(
      Resolve("trained.model.layer_count", 2, 1, 8, &model->layer_count));
  LOCUS_RETURN_IF_ERROR(
      Resolve("trained.model.head_count", 4, 1, 64, &model->head_count));
  LOCUS_RETURN_IF_ERROR(
      CheckHeads("trained.model", model->dim, model->head_count));
  LOCUS_RETURN_IF_ERROR(Resolve("trained.model.feed_forward_dim",
                                4 * model->dim, 1, 1024,
                                &model->feed_forward_dim));
  if (!model->causal.has_value()) model->causal = !task.is_bidirectional();
  // A model that sees the answers among its tokens would only copy them.
  if (!*model->causal && !task.is_bidirectional()) {
    return InvalidField("trained.model.causal",
                        "is false; the answers of this task are among its "
                        "tokens, so that models must be causal");
  }
  return absl::OkStatus();
}

absl::Status Fill(const Task& task, TrainingSettings* training) {
  LOCUS_RETURN_IF_ERROR(Resolve("trained.training.step_count",
                                task.default_step_count(), 1, 1'000'000,
                                &training->step_count));
  LOCUS_RETURN_IF_ERROR(Resolve("trained.training.batch_size", 32, 1, 1024,
                                &training->batch_size));
  LOCUS_RETURN_IF_ERROR(Resolve("trained.training.learning_rate", 2e-3, 1e-8, 1,
                                &training->learning_rate));
  LOCUS_RETURN_IF_ERROR(Resolve("trained.training.weight_decay", 0.01, 0, 1,
                                &training->weight_decay));
  LOCUS_RETURN_IF_ERROR(Resolve("trained.training.clip_norm", 1, 1e-6, 1e6,
                                &training->clip_norm));
  if (!training->warmup_step_count.has_value()) {
    training->warmup_step_count = training->step_count / 10;
  }
  int64_t& warmup = *training->warmup_step_count;
  if (warmup >= 0 && warmup <= training->step_count) return absl::OkStatus();
  return InvalidField("trained.training.warmup_step_count",
                      absl::StrCat("is ", warmup, "; must be from 0 to the ",
                                   training->step_count, " steps"));
}

std::vector<int64_t> DefaultPatternLengths(int64_t train_length) {
  return {train_length, 3 * train_length / 2, 2 * train_length,
          3 * train_length, 4 * train_length};
}

// `task` is null in pattern mode.
absl::Status FillLengths(const Task* task, EvaluationSettings* settings) {
  LOCUS_RETURN_IF_ERROR(Resolve(
      "train_length", task == nullptr ? 64 : task->default_train_length(), 2,
      kMaxTrainLength, &settings->train_length));
  const int64_t train_length = settings->train_length;
  auto& lengths = settings->eval_lengths;
  if (static_cast<int64_t>(lengths.size()) > kMaxEvalLengths) {
    return InvalidField(
        "eval_lengths",
        absl::StrCat("has ", lengths.size(), " values; must be at most ",
                     kMaxEvalLengths));
  }
  if (lengths.empty()) {
    lengths = task == nullptr ? DefaultPatternLengths(train_length)
                              : task->DefaultEvalLengths(train_length);
  }
  for (size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] < 2 || lengths[n] > kMaxEvalLength) {
      return InvalidField(absl::StrCat("eval_lengths[", n, "]"),
                          absl::StrCat("is ", lengths[n],
                                       "; must be from 2 to ", kMaxEvalLength));
    }
  }
  // The training length is the reference for results at other lengths.
  lengths.push_back(train_length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return absl::OkStatus();
}

absl::Status CheckQuestions(const TrainedSettings& trained,
                            int64_t max_length) {
  const auto& questions = trained.questions;
  if (questions.empty()) return absl::OkStatus();
  if (trained.task != "ordering") {
    return InvalidField("trained.ordering.ask",
                        absl::StrCat("is set; the task is ", trained.task));
  }
  if (questions.size() > kMaxQuestions) {
    return InvalidField(
        "trained.ordering.ask",
        absl::StrCat("has ", questions.size(), " sequences; must be at most ",
                     kMaxQuestions));
  }
  for (size_t n = 0; n < questions.size(); ++n) {
    const absl::Status checked =
        CheckOrderingQuestion(questions[n], max_length);
    if (checked.ok()) continue;
    return Within(absl::StrCat("trained.ordering.ask[", n, "]"), checked);
  }
  return absl::OkStatus();
}

absl::Status Fill(const Task& task, EvaluationSettings* settings,
                  TrainedSettings* trained) {
  LOCUS_RETURN_IF_ERROR(Fill(task, &trained->model));
  LOCUS_RETURN_IF_ERROR(Fill(task, &trained->training));
  for (const int64_t length : settings->eval_lengths) {
    const absl::Status checked = task.CheckLength(length);
    if (checked.ok()) continue;
    if (FieldOf(checked) != "length") return Within("trained", checked);
    return InvalidField(
        length == settings->train_length ? "train_length" : "eval_lengths",
        absl::StrCat("is ", length, "; this task needs at least ",
                     task.min_length(), " tokens"));
  }
  return CheckQuestions(*trained, settings->eval_lengths.back());
}

}  // namespace

absl::Status FillDefaults(EvaluationSettings* settings) {
  auto* const pattern = std::get_if<PatternSettings>(&settings->mode);
  std::unique_ptr<Task> task;
  if (pattern == nullptr) {
    const auto& trained = std::get<TrainedSettings>(settings->mode);
    auto made = MakeTask(trained.task, trained.corpus);
    if (!made.ok()) return Within("trained", made.status());
    task = *std::move(made);
  }
  LOCUS_RETURN_IF_ERROR(FillLengths(task.get(), settings));
  LOCUS_RETURN_IF_ERROR(Resolve("seed_count", pattern != nullptr ? 1 : 3, 1,
                                kMaxSeeds, &settings->seed_count));
  if (pattern != nullptr) return Fill(pattern);
  return Fill(*task, settings, &std::get<TrainedSettings>(settings->mode));
}

TrainingSetting TrainingSettingOf(const EvaluationSettings& settings) {
  const auto* const pattern = std::get_if<PatternSettings>(&settings.mode);
  return {
      .train_length = settings.train_length,
      .causal = pattern != nullptr
                    ? pattern->causal
                    : *std::get<TrainedSettings>(settings.mode).model.causal};
}

}  // namespace locus
