// Tests of whole evaluations with tiny models, and of their settings.
#include "core/evaluation/evaluation.h"

#include <atomic>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/encoding/registry.h"
#include "core/evaluation/tasks/tasks.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Settings of a tiny evaluation.
EvaluationSettings Tiny(absl::string_view task) {
  EvaluationSettings settings;
  TrainedSettings trained;
  trained.task = std::string(task);
  trained.model.dim = 16;
  trained.model.layer_count = 1;
  trained.model.head_count = 2;
  trained.training.step_count = 12;
  trained.training.batch_size = 6;
  settings.mode = trained;
  settings.train_length = 16;
  settings.eval_lengths = {16, 24};
  settings.seed = 7;
  settings.seed_count = 2;
  return settings;
}

// All schemes that the settings permit, with their training defaults.
std::vector<EvaluatedScheme> AllWithTrainingDefaults(
    const EvaluationSettings& settings) {
  const TrainingSetting setting = TrainingSettingOf(settings);
  std::vector<EvaluatedScheme> schemes;
  for (const SchemeInfo& info : AllSchemes()) {
    if (info.is_causal_only && !setting.causal) continue;
    const auto* trained = std::get_if<TrainedSettings>(&settings.mode);
    if (trained != nullptr && trained->task == "retrofit" &&
        info.site != Site::kQueriesAndKeys) {
      continue;
    }
    auto scheme = MakeScheme(info, {}, &setting);
    EXPECT_TRUE(scheme.ok()) << scheme.status();
    schemes.push_back({std::string(info.name), *std::move(scheme)});
  }
  return schemes;
}

// Records progress and cells. `full` becomes true after cells_left cells.
class Recorder : public EvaluationSink {
 public:
  void OnProgress(const EvaluationProgress& progress) override {
    steps.push_back(progress.step);
    shares.push_back(progress.done_share);
  }
  void OnCell(EvaluationCell cell) override {
    cells.push_back(std::move(cell));
    if (cells_left > 0 && --cells_left == 0) full = true;
  }

  std::vector<int64_t> steps;
  std::vector<double> shares;
  std::vector<EvaluationCell> cells;
  int cells_left = 0;
  std::atomic<bool> full = false;
};

EvaluationJob MustCreate(EvaluationSettings settings) {
  const absl::Status filled = FillDefaults(&settings);
  EXPECT_TRUE(filled.ok()) << filled;
  auto schemes = AllWithTrainingDefaults(settings);
  auto job = EvaluationJob::Create(settings, schemes);
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST(EvaluationTest, RunsEveryTaskWithEveryScheme) {
  for (const absl::string_view task : TaskNames()) {
    SCOPED_TRACE(task);
    const EvaluationJob job = MustCreate(Tiny(task));
    EvaluationSettings settings = Tiny(task);
    ASSERT_TRUE(FillDefaults(&settings).ok());
    const size_t scheme_count = AllWithTrainingDefaults(settings).size();
    ThreadPool pool(2);
    Recorder recorder;
    const auto summary = job.Run(pool, nullptr, recorder);
    ASSERT_TRUE(summary.ok()) << summary.status();
    EXPECT_FALSE(summary->partial);
    EXPECT_EQ(recorder.cells.size(), scheme_count * 2 * 2);
    const size_t trainings = task == "retrofit" ? 1 : scheme_count;
    EXPECT_EQ(recorder.steps.size(), trainings * 2 * 12);
    EXPECT_TRUE(std::is_sorted(recorder.shares.begin(), recorder.shares.end()));
    EXPECT_LE(recorder.shares.back(), 1);
    EXPECT_EQ(summary->gates.size(), scheme_count);
    std::set<std::string> metrics;
    for (const EvaluationRow& row : summary->rows) {
      metrics.insert(row.metric);
      EXPECT_EQ(row.count, 2);
      EXPECT_LE(row.ci_low, row.mean);
      EXPECT_GE(row.ci_high, row.mean);
    }
    EXPECT_TRUE(metrics.count(summary->gates[0].metric) > 0);
    EXPECT_THAT(summary->verdict.text, Not(IsEmpty()));
  }
}

TEST(EvaluationTest, TrainingCurvesHaveAtMost50PointsThatEndAtTheLastStep) {
  for (const int64_t step_count : {12, 120}) {
    EvaluationSettings settings = Tiny("copy");
    std::get<TrainedSettings>(settings.mode).training.step_count = step_count;
    const EvaluationJob job = MustCreate(settings);
    ThreadPool pool(2);
    Recorder recorder;
    const auto summary = job.Run(pool, nullptr, recorder);
    ASSERT_TRUE(summary.ok()) << summary.status();
    ASSERT_FALSE(summary->training_curves.empty());
    for (const TrainingCurve& curve : summary->training_curves) {
      ASSERT_EQ(curve.steps.size(), std::min<size_t>(step_count, 50));
      ASSERT_EQ(curve.losses.size(), curve.steps.size());
      EXPECT_TRUE(std::is_sorted(curve.steps.begin(), curve.steps.end()));
      EXPECT_EQ(curve.steps.back(), step_count);
      // Untrained models guess one of 17 tokens.
      EXPECT_NEAR(curve.losses.front(), std::log(17.0), 0.5);
    }
  }
}

TEST(EvaluationTest, AsksTheTrainedModels) {
  EvaluationSettings settings = Tiny("ordering");
  auto& trained = std::get<TrainedSettings>(settings.mode);
  trained.training.step_count = 400;
  trained.training.batch_size = 32;
  trained.questions = {{0, 3, 5}, {5, 3, 0}};
  settings.train_length = 4;
  settings.eval_lengths = {4};
  settings.seed_count = 2;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  const TrainingSetting setting = TrainingSettingOf(settings);
  const auto job = EvaluationJob::Create(
      settings,
      {{"sinusoidal", *MakeScheme(*FindScheme("sinusoidal"), {}, &setting)},
       {"none", *MakeScheme(*FindScheme("none"), {}, &setting)}});
  ASSERT_TRUE(job.ok()) << job.status();
  ThreadPool pool(2);
  Recorder recorder;
  const auto summary = job->Run(pool, nullptr, recorder);
  ASSERT_TRUE(summary.ok()) << summary.status();
  const auto& answers = summary->ordering_answers;
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0].values, (std::vector<int64_t>{0, 3, 5}));
  EXPECT_EQ(answers[0].count, 2);
  EXPECT_GT(answers[0].probability, 0.9);
  EXPECT_LT(answers[2].probability, 0.1);
  // Without positions both orders get the same answer.
  EXPECT_NEAR(answers[1].probability, answers[3].probability, 1e-4);
}

// The first scheme has the same result as in the task `text`, and a scaling by
// a factor of 1 changes nothing.
TEST(EvaluationTest, RetrofitTestsOneModelWithEveryScheme) {
  EvaluationSettings settings = Tiny("retrofit");
  ASSERT_TRUE(FillDefaults(&settings).ok());
  const TrainingSetting setting = TrainingSettingOf(settings);
  const auto make = [&](const std::string& name, Arguments arguments) {
    return EvaluatedScheme{
        name, *MakeScheme(*FindScheme("rope"), std::move(arguments), &setting)};
  };
  Arguments same;
  same.Set("linear", true);
  Arguments slower = same;
  slower.Set("linear.factor", 4.0);
  const auto cells = [&](const EvaluationSettings& asked,
                         std::vector<EvaluatedScheme> schemes) {
    ThreadPool pool(2);
    Recorder recorder;
    EXPECT_TRUE(EvaluationJob::Create(asked, std::move(schemes))
                    ->Run(pool, nullptr, recorder)
                    .ok());
    return std::move(recorder.cells);
  };
  const auto tested = cells(
      settings, {make("rope", {}), make("same", same), make("slower", slower)});
  EvaluationSettings text = Tiny("text");
  ASSERT_TRUE(FillDefaults(&text).ok());
  const auto trained = cells(text, {make("rope", {})});
  const size_t lengths = settings.eval_lengths.size();
  for (size_t n = 0; n < lengths; ++n) {
    EXPECT_EQ(tested[n].metrics, trained[n].metrics);
    EXPECT_EQ(tested[lengths + n].metrics, tested[n].metrics);
    EXPECT_NE(tested[2 * lengths + n].metrics, tested[n].metrics);
  }
}

TEST(EvaluationTest, RetrofitRejectsSchemesWithoutRotations) {
  EvaluationSettings settings = Tiny("retrofit");
  ASSERT_TRUE(FillDefaults(&settings).ok());
  const TrainingSetting setting = TrainingSettingOf(settings);
  const auto job = EvaluationJob::Create(
      settings, {{"alibi", *MakeScheme(*FindScheme("alibi"), {}, &setting)}});
  EXPECT_EQ(FieldOf(job.status()), "schemes[0]");
}

TEST(EvaluationTest, RunsPatternMode) {
  EvaluationSettings settings;
  settings.mode = PatternSettings{.map_size = 8};
  settings.train_length = 16;
  const EvaluationJob job = MustCreate(settings);
  ThreadPool pool(2);
  Recorder recorder;
  const auto summary = job.Run(pool, nullptr, recorder);
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_EQ(recorder.cells.size(),
            AllWithTrainingDefaults(settings).size() * 5);
  EXPECT_TRUE(recorder.cells[0].attention_map.has_value());
  EXPECT_THAT(summary->gates, IsEmpty());
}

TEST(EvaluationTest, IsBitIdenticalForAnyNumberOfThreads) {
  for (const absl::string_view task : {"text", "ordering"}) {
    const EvaluationJob job = MustCreate(Tiny(task));
    std::vector<std::map<std::string, double>> first;
    for (const int threads : {1, 2, 4, 1}) {
      ThreadPool pool(threads);
      Recorder recorder;
      ASSERT_TRUE(job.Run(pool, nullptr, recorder).ok());
      std::vector<std::map<std::string, double>> metrics;
      for (const EvaluationCell& cell : recorder.cells) {
        metrics.push_back(cell.metrics);
      }
      if (first.empty()) first = metrics;
      EXPECT_EQ(metrics, first) << threads;
    }
  }
}

// Checks the whole pipeline: a bidirectional model without positions gives the
// same answer to a sequence and its permutation.
TEST(EvaluationTest, OrderingWithoutPositionsIsExactlyChance) {
  EvaluationSettings settings = Tiny("ordering");
  std::get<TrainedSettings>(settings.mode).training.step_count = 60;
  settings.train_length = 32;
  settings.eval_lengths = {32, 64, 256};
  settings.seed_count = 3;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  auto none = MakeScheme(*FindScheme("none"), {});
  const auto job =
      EvaluationJob::Create(settings, {{"none", *std::move(none)}});
  ThreadPool pool(2);
  Recorder recorder;
  const auto summary = job->Run(pool, nullptr, recorder);
  ASSERT_TRUE(summary.ok()) << summary.status();
  for (const EvaluationCell& cell : recorder.cells) {
    EXPECT_EQ(cell.metrics.at("balanced_accuracy"), 0.5)
        << cell.seed << " at " << cell.eval_length;
  }
  EXPECT_EQ(summary->verdict.kind, VerdictKind::kNotLearned);
  EXPECT_FALSE(summary->gates[0].passed);
}

TEST(EvaluationTest, CancellationEndsTheRun) {
  const EvaluationJob job = MustCreate(Tiny("copy"));
  ThreadPool pool(2);
  Recorder recorder;
  recorder.cells_left = 3;
  const auto summary = job.Run(
      pool,
      [&] {
        return recorder.full ? absl::CancelledError("gone") : absl::OkStatus();
      },
      recorder);
  EXPECT_EQ(summary.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(recorder.cells.size(), 3);
}

TEST(EvaluationTest, DeadlineReturnsAPartialSummary) {
  const EvaluationJob job = MustCreate(Tiny("copy"));
  ThreadPool pool(2);
  Recorder recorder;
  recorder.cells_left = 3;
  const auto summary = job.Run(
      pool,
      [&] {
        return recorder.full ? absl::DeadlineExceededError("late")
                             : absl::OkStatus();
      },
      recorder);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_TRUE(summary->partial);
  EXPECT_EQ(summary->verdict.kind, VerdictKind::kPartial);
  EXPECT_EQ(summary->verdict.text, "No winner: the evaluation is partial.");
  EXPECT_EQ(recorder.cells.size(), 3);
  // Two metrics in each of three cells.
  EXPECT_EQ(summary->rows.size(), 6);
}

TEST(EvaluationTest, SuggestsAStepCountThatFits) {
  EvaluationSettings settings = Tiny("copy");
  std::get<TrainedSettings>(settings.mode).training.step_count = 5000;
  const EvaluationJob job = MustCreate(settings);
  EXPECT_THAT(job.SuggestReduction(job.flops() * 0.7),
              HasSubstr("trained.training.step_count of "));
  EXPECT_THAT(job.SuggestReduction(1), Not(HasSubstr("step_count")));
  // The suggested step count fits.
  const std::string suggestion = job.SuggestReduction(job.flops() * 0.9);
  const size_t at = suggestion.find(" of ") + 4;
  std::get<TrainedSettings>(settings.mode).training.step_count =
      std::stoll(suggestion.substr(at));
  const EvaluationJob smaller = MustCreate(settings);
  EXPECT_LE(smaller.flops(), job.flops() * 0.9);
  EXPECT_GT(smaller.flops(), job.flops() * 0.4);
}

// Models are trained at 32 tokens and tested at 256. As in the ALiBi paper (512
// and 3512 tokens), ALiBi extrapolates best, followed by T5's bias, rotations
// and sinusoidal codes.
TEST(EvaluationTest, RanksSchemesAsTheAlibiPaperDoes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "takes minutes; smaller tests cover the same code";
#endif
  EvaluationSettings settings;
  TrainedSettings trained;
  trained.task = "text";
  trained.training.step_count = 160;
  settings.mode = trained;
  settings.eval_lengths = {32, 256};
  settings.seed_count = 1;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  const TrainingSetting setting = TrainingSettingOf(settings);
  std::vector<EvaluatedScheme> schemes;
  for (const char* name : {"sinusoidal", "rope", "t5_bias", "alibi"}) {
    schemes.push_back({name, *MakeScheme(*FindScheme(name), {}, &setting)});
  }
  const auto job = EvaluationJob::Create(settings, schemes);
  ASSERT_TRUE(job.ok()) << job.status();
  ThreadPool pool(2);
  Recorder recorder;
  const auto summary = job->Run(pool, nullptr, recorder);
  ASSERT_TRUE(summary.ok()) << summary.status();
  std::map<std::string, double> near, far;
  for (const EvaluationCell& cell : recorder.cells) {
    (cell.eval_length == 32 ? near : far)[cell.scheme_name] =
        cell.metrics.at("nll");
  }
  EXPECT_EQ(summary->verdict.winner, "");
  EXPECT_THAT(summary->verdict.text,
              HasSubstr("Best of one seed, not a result: alibi with nll"));
  EXPECT_LT(far["alibi"], near["alibi"] + 0.1);
  EXPECT_LT(far["alibi"] + 0.1, far["t5_bias"]);
  EXPECT_LT(far["t5_bias"] + 0.2, far["rope"]);
  EXPECT_LT(far["rope"] + 0.2, far["sinusoidal"]);
  // At the training length they are close to each other.
  EXPECT_LT(std::abs(near["alibi"] - near["rope"]), 0.3);
}

// The estimate includes the work per parameter, which dominates for short
// sequences.
TEST(EvaluationTest, FlopsCountParameters) {
  EvaluationSettings settings = Tiny("copy");
  auto& trained = std::get<TrainedSettings>(settings.mode);
  trained.model = {.dim = 256, .layer_count = 8, .head_count = 1};
  trained.training.step_count = 300000;
  trained.training.batch_size = 1;
  settings.train_length = 2;
  settings.eval_lengths = {2};
  settings.seed_count = 1;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  auto none = MakeScheme(*FindScheme("none"), {});
  const auto job =
      EvaluationJob::Create(settings, {{"none", *std::move(none)}});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_GT(job->flops(), 1e15);
}

TEST(EvaluationTest, RejectsTooManyCells) {
  EvaluationSettings settings;
  settings.train_length = 8;
  settings.seed_count = 64;
  for (int64_t n = 0; n < 30; ++n) settings.eval_lengths.push_back(8 + n);
  ASSERT_TRUE(FillDefaults(&settings).ok());
  std::vector<EvaluatedScheme> schemes;
  const std::shared_ptr<const Scheme> none =
      *MakeScheme(*FindScheme("none"), {});
  for (int n = 0; n < 5; ++n)
    schemes.push_back({absl::StrCat("none#", n), none});
  const auto job = EvaluationJob::Create(settings, schemes);
  EXPECT_EQ(LimitOf(job.status()), "max_evaluation_cells") << job.status();
}

TEST(EvaluationTest, ErrorsNameTheSchemeByItsIndex) {
  EvaluationSettings settings = Tiny("copy");
  std::get<TrainedSettings>(settings.mode).model.dim = 15;
  std::get<TrainedSettings>(settings.mode).model.head_count = 3;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  const auto job =
      EvaluationJob::Create(settings, AllWithTrainingDefaults(settings));
  EXPECT_EQ(FieldOf(job.status()), "schemes[3].rope.rotary_dim")
      << job.status();
}

TEST(SettingsTest, DefaultsAreTheDocumentedOnes) {
  EvaluationSettings settings;
  TrainedSettings trained;
  trained.task = "text";
  settings.mode = trained;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_EQ(settings.train_length, 32);
  EXPECT_THAT(settings.eval_lengths, ElementsAre(32, 64, 128, 256));
  EXPECT_EQ(settings.seed_count, 3);
  const auto& filled = std::get<TrainedSettings>(settings.mode);
  EXPECT_EQ(filled.model.dim, 64);
  EXPECT_EQ(filled.model.layer_count, 2);
  EXPECT_EQ(filled.model.head_count, 4);
  EXPECT_EQ(filled.model.feed_forward_dim, 256);
  EXPECT_TRUE(*filled.model.causal);
  EXPECT_EQ(filled.training.batch_size, 32);
  EXPECT_EQ(*filled.training.learning_rate, 2e-3);
  EXPECT_EQ(*filled.training.clip_norm, 1);

  settings = {};
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_THAT(settings.eval_lengths, ElementsAre(64, 96, 128, 192, 256));
  EXPECT_EQ(settings.seed_count, 1);
  EXPECT_EQ(std::get<PatternSettings>(settings.mode).dim, 32);
  EXPECT_EQ(std::get<PatternSettings>(settings.mode).head_count, 2);
}

TEST(SettingsTest, TrainingLengthIsAlwaysTested) {
  EvaluationSettings settings;
  settings.train_length = 32;
  settings.eval_lengths = {100, 50, 100};
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_THAT(settings.eval_lengths, ElementsAre(32, 50, 100));
}

TEST(SettingsTest, ErrorsNameTheField) {
  const auto field_of = [](auto change) {
    EvaluationSettings settings = Tiny("text");
    change(settings, std::get<TrainedSettings>(settings.mode));
    return FieldOf(FillDefaults(&settings));
  };
  using S = EvaluationSettings;
  using M = TrainedSettings;
  EXPECT_EQ(field_of([](S& s, M&) { s.train_length = -1; }), "train_length");
  EXPECT_EQ(field_of([](S& s, M&) { s.train_length = 1 << 20; }),
            "train_length");
  EXPECT_EQ(field_of([](S& s, M&) {
              s.eval_lengths = {16, -3};
            }),
            "eval_lengths[1]");
  EXPECT_EQ(field_of([](S& s, M&) { s.eval_lengths.assign(99, 16); }),
            "eval_lengths");
  EXPECT_EQ(field_of([](S& s, M&) { s.seed_count = 1000; }), "seed_count");
  EXPECT_EQ(field_of([](S&, M& m) { m.model.head_count = 3; }),
            "trained.model.head_count");
  EXPECT_EQ(field_of([](S&, M& m) { m.model.dim = 1 << 30; }),
            "trained.model.dim");
  EXPECT_EQ(field_of([](S&, M& m) { m.model.causal = false; }),
            "trained.model.causal");
  EXPECT_EQ(field_of([](S&, M& m) { m.training.step_count = -5; }),
            "trained.training.step_count");
  EXPECT_EQ(field_of([](S&, M& m) { m.training.learning_rate = NAN; }),
            "trained.training.learning_rate");
  EXPECT_EQ(field_of([](S&, M& m) { m.training.warmup_step_count = 13; }),
            "trained.training.warmup_step_count");
  EXPECT_EQ(field_of([](S&, M& m) { m.corpus = "short"; }),
            "trained.text.corpus");
  EXPECT_EQ(field_of([](S& s, M& m) {
              m.task = "recall";
              s.train_length = 2;
              s.eval_lengths = {64};
            }),
            "train_length");
}

EvaluationSettings Ordering() {
  EvaluationSettings settings;
  TrainedSettings trained;
  trained.task = "ordering";
  settings.mode = trained;
  return settings;
}

TEST(EvaluationSettingsTest, OrderingIsTrainedAtALengthThatSchemesLearn) {
  EvaluationSettings settings = Ordering();
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_EQ(settings.train_length, 4);
  EXPECT_THAT(settings.eval_lengths, ElementsAre(4, 5, 6, 8));
  settings = Ordering();
  settings.train_length = 32;
  ASSERT_TRUE(FillDefaults(&settings).ok());
  EXPECT_THAT(settings.eval_lengths, ElementsAre(32, 40, 48, 64));
}

TEST(EvaluationSettingsTest, ChecksQuestions) {
  const auto check = [](std::vector<std::vector<int64_t>> questions,
                        const char* task = "ordering") {
    EvaluationSettings settings = Ordering();
    std::get<TrainedSettings>(settings.mode).task = task;
    std::get<TrainedSettings>(settings.mode).questions = std::move(questions);
    const absl::Status status = FillDefaults(&settings);
    return status.ok() ? "" : std::string(FieldOf(status));
  };
  EXPECT_EQ(check({{3, 1, 4, 2}, {0, 7}}), "");
  EXPECT_EQ(check({{1, 2}, {1, 8}}), "trained.ordering.ask[1].values[1]");
  EXPECT_EQ(check({{-1, 2}}), "trained.ordering.ask[0].values[0]");
  EXPECT_EQ(check({{1}}), "trained.ordering.ask[0].values");
  // Seven values and the query token make the longest of 8 tokens.
  EXPECT_EQ(check({std::vector<int64_t>(7, 1)}), "");
  EXPECT_EQ(check({std::vector<int64_t>(8, 1)}),
            "trained.ordering.ask[0].values");
  EXPECT_EQ(check(std::vector<std::vector<int64_t>>(17, {1, 2})),
            "trained.ordering.ask");
  EXPECT_EQ(check({{1, 2}}, "copy"), "trained.ordering.ask");
}

}  // namespace
}  // namespace locus
