#include "server/services/convert/convert_evaluation.h"

#include <gtest/gtest.h>

#include "absl/algorithm/container.h"
#include "core/base/status.h"
#include "core/encoding/registry.h"

namespace locus::server {
namespace {

TEST(ConvertEvaluationTest, ErrorsNameSchemeByIndex) {
  v1::CheckPropertiesRequest request;
  request.add_schemes()->mutable_rope();
  request.add_schemes();
  EXPECT_EQ(FieldOf(ToPropertiesPlan(request).status()), "schemes[1]");
  request.mutable_schemes(1)->mutable_rope()->set_base(-1);
  EXPECT_EQ(FieldOf(ToPropertiesPlan(request).status()),
            "schemes[1].rope.base");
  request.mutable_schemes(1)->mutable_rope()->set_layout(
      static_cast<v1::RopeLayout>(77));
  request.mutable_schemes(1)->mutable_rope()->clear_base();
  EXPECT_EQ(FieldOf(ToPropertiesPlan(request).status()),
            "schemes[1].rope.layout");
}

TEST(ConvertEvaluationTest, RejectsTooManySchemes) {
  v1::CheckPropertiesRequest request;
  for (int i = 0; i < 65; ++i) request.add_schemes()->mutable_none();
  EXPECT_EQ(LimitOf(ToPropertiesPlan(request).status()), "checked_schemes");
  v1::EvaluateExtrapolationRequest evaluation;
  evaluation.mutable_pattern();
  for (int i = 0; i < 33; ++i) evaluation.add_schemes()->mutable_none();
  EXPECT_EQ(LimitOf(ToEvaluationPlan(evaluation).status()),
            "evaluated_schemes");
}

TEST(ConvertEvaluationTest, RequiresModeAndTask) {
  v1::EvaluateExtrapolationRequest request;
  EXPECT_EQ(FieldOf(ToEvaluationPlan(request).status()), "pattern");
  request.mutable_trained();
  EXPECT_EQ(FieldOf(ToEvaluationPlan(request).status()), "trained.ordering");
}

TEST(ConvertEvaluationTest, SupportsEveryTaskOfTheProto) {
  const auto* tasks = v1::TrainedMode::descriptor()->FindOneofByName("task");
  for (int i = 0; i < tasks->field_count(); ++i) {
    v1::EvaluateExtrapolationRequest request;
    v1::TrainedMode* trained = request.mutable_trained();
    trained->GetReflection()->MutableMessage(trained, tasks->field(i));
    const auto plan = ToEvaluationPlan(request);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(std::get<TrainedSettings>(plan->settings.mode).task,
              tasks->field(i)->name());
    if (tasks->field(i)->name() == "retrofit") continue;  // has other defaults
    for (const NamedScheme& scheme : plan->schemes) {
      EXPECT_TRUE(scheme.resolved.info->in_default_evaluation) << scheme.name;
    }
    EXPECT_EQ(static_cast<int64_t>(plan->schemes.size()),
              absl::c_count_if(AllSchemes(), [](const SchemeInfo& info) {
                return info.in_default_evaluation;
              }));
  }
}

TEST(ConvertEvaluationTest, RetrofitTestsScalingsAtThreeFactors) {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_trained()->mutable_retrofit();
  request.set_train_length(64);
  const auto plan = ToEvaluationPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->schemes.size(), 1 + 3 * 7);
  EXPECT_EQ(plan->schemes[0].name, "rope");
  EXPECT_EQ(plan->schemes[1].name,
            "linear\xc3\x97"
            "2");
  const NamedScheme& llama3 = plan->schemes[15];
  EXPECT_EQ(llama3.name,
            "llama3\xc3\x97"
            "8");
  EXPECT_EQ(llama3.resolved.arguments.Number("llama3.factor"), 8);
  EXPECT_EQ(llama3.resolved.arguments.Integer("llama3.original_length"), 64);
  // Heads have 16 channels by default. LongRoPE leaves the frequency of the
  // first pair unchanged and divides that of the last pair by the factor.
  const NamedScheme& longrope = plan->schemes[18];
  EXPECT_EQ(longrope.name,
            "longrope\xc3\x97"
            "8");
  const auto& factors =
      longrope.resolved.arguments.Numbers("longrope.long_factors");
  ASSERT_EQ(factors.size(), 8u);
  EXPECT_EQ(factors.front(), 1);
  EXPECT_EQ(factors.back(), 8);
  // The layout is that of training, whatever the default of the scaling is.
  const NamedScheme& last = plan->schemes.back();
  EXPECT_EQ(last.name,
            "proportional\xc3\x97"
            "8");
  EXPECT_EQ(last.resolved.arguments.Choice("layout"), "INTERLEAVED");
}

TEST(ConvertEvaluationTest, ReadsQuestionsOfTheOrderingTask) {
  v1::EvaluateExtrapolationRequest request;
  auto* ordering = request.mutable_trained()->mutable_ordering();
  for (const int64_t value : {3, 1, 4, 2}) {
    if (ordering->ask().empty()) ordering->add_ask();
    ordering->mutable_ask(0)->add_values(value);
  }
  const auto plan = ToEvaluationPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(std::get<TrainedSettings>(plan->settings.mode).questions,
            (std::vector<std::vector<int64_t>>{{3, 1, 4, 2}}));
  ordering->mutable_ask(0)->set_values(2, 9);
  EXPECT_EQ(FieldOf(ToEvaluationPlan(request).status()),
            "trained.ordering.ask[0].values[2]");
}

TEST(ConvertEvaluationTest, RejectsLargeCorpus) {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_trained()->mutable_text()->set_corpus(
      std::string((4 << 20) + 1, 'x'));
  const absl::Status status = ToEvaluationPlan(request).status();
  EXPECT_EQ(FieldOf(status), "trained.text.corpus");
  EXPECT_EQ(LimitOf(status), "corpus_bytes");
}

TEST(ConvertEvaluationTest, KeepsExplicitZeroAndFillsInDefaults) {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_trained()->mutable_copy();
  request.mutable_trained()->mutable_training()->set_weight_decay(0);
  const auto plan = ToEvaluationPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto& trained = std::get<TrainedSettings>(plan->settings.mode);
  EXPECT_EQ(trained.training.weight_decay, 0);
  EXPECT_NE(trained.training.learning_rate, 0);
}

TEST(ConvertEvaluationTest, AppliesTrainingDefaultsToSchemes) {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_pattern();
  request.set_train_length(24);
  request.add_schemes()->mutable_learned();
  request.add_schemes()->mutable_learned()->set_max_length(7);
  const auto plan = ToEvaluationPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Arguments& first = plan->schemes[0].resolved.arguments;
  EXPECT_EQ(first.Integer("max_length"), 24);
  EXPECT_EQ(first.Choice("policy"), "CLAMP");
  EXPECT_EQ(plan->schemes[1].resolved.arguments.Integer("max_length"), 7);
  EXPECT_EQ(plan->evaluated_schemes()[1].name, "learned max_length=7");
}

TEST(ConvertEvaluationTest, CellSizeIncludesAttentionMap) {
  v1::EvaluateExtrapolationRequest request;
  request.mutable_pattern()->set_map_size(64);
  request.mutable_pattern()->set_head_count(2);
  const auto plan = ToEvaluationPlan(request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(plan->max_cell_bytes(), 2 * 64 * 64 * 8);
}

}  // namespace
}  // namespace locus::server
