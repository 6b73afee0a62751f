// Tests of effective lengths.
#include "core/evaluation/summary/effective_length.h"

#include <gtest/gtest.h>

#include "tests/core/evaluation/summary/cells.h"

namespace locus {
namespace {

// The effective length of the only scheme `a`.
EffectiveLength EffectiveLengthOf(const LearnedCriterion& criterion,
                                  const std::vector<EvaluationCell>& cells) {
  const auto effective =
      SummarizeTrained(Spec({"a"}), criterion, cells).effective_lengths;
  return effective.size() == 1 ? effective[0] : EffectiveLength{};
}

TEST(EffectiveLengthTest, IsTheLongestLengthWithASmallLoss) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1, 1}, &cells);
  Add("a", 128, "accuracy", {0.95, 0.95, 0.95}, &cells);
  Add("a", 256, "accuracy", {0.5, 0.5, 0.5}, &cells);
  const EffectiveLength effective = EffectiveLengthOf(kAccuracy, cells);
  EXPECT_EQ(effective.length, 128);
  EXPECT_EQ(effective.ci_low, 128);
  EXPECT_EQ(effective.ci_high, 128);
  EXPECT_EQ(effective.threshold, 0.1);
  EXPECT_EQ(effective.metric, "accuracy");
}

TEST(EffectiveLengthTest, LossesMayRiseByTheThreshold) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1, 1}, &cells);
  Add("a", 128, "nll", {1.09, 1.09}, &cells);
  Add("a", 256, "nll", {1.11, 1.11}, &cells);
  EXPECT_EQ(EffectiveLengthOf(kLoss, cells).length, 128);
}

TEST(EffectiveLengthTest, GainsAreNoLoss) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1, 1}, &cells);
  Add("a", 128, "nll", {0.5, 0.5}, &cells);
  Add("a", 256, "nll", {0.25, 0.25}, &cells);
  EXPECT_EQ(EffectiveLengthOf(kLoss, cells).length, 256);
}

TEST(EffectiveLengthTest, EndsAtTheFirstLengthThatFails) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1}, &cells);
  Add("a", 128, "accuracy", {0.5, 0.5}, &cells);
  Add("a", 256, "accuracy", {1, 1}, &cells);
  EXPECT_EQ(EffectiveLengthOf(kAccuracy, cells).length, 64);
}

TEST(EffectiveLengthTest, IntervalFollowsFromTheSeeds) {
  // The mean loss at 128 is 0.05, with an interval that reaches beyond 0.1; the
  // mean loss at 256 is 0.15, with an interval that begins below 0.1.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1, 1}, &cells);
  Add("a", 128, "accuracy", {0.99, 0.95, 0.91}, &cells);
  Add("a", 256, "accuracy", {0.75, 0.85, 0.95}, &cells);
  const EffectiveLength effective = EffectiveLengthOf(kAccuracy, cells);
  EXPECT_EQ(effective.length, 128);
  EXPECT_EQ(effective.ci_low, 64);
  EXPECT_EQ(effective.ci_high, 256);
}

TEST(EffectiveLengthTest, SeedsArePaired) {
  // The seeds differ in range, but every seed loses exactly 5 %.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 0.9, 0.92}, &cells);
  Add("a", 128, "accuracy", {0.95, 0.855, 0.874}, &cells);
  EXPECT_EQ(EffectiveLengthOf(kAccuracy, cells).ci_low, 128);
}

TEST(EffectiveLengthTest, IsZeroIfTheSchemeDidNotLearn) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.5, 0.5}, &cells);
  Add("a", 128, "accuracy", {0.5, 0.5}, &cells);
  EXPECT_EQ(EffectiveLengthOf(kAccuracy, cells).length, 0);
  EXPECT_EQ(EffectiveLengthOf(kAccuracy, cells).ci_high, 0);
}

TEST(EffectiveLengthTest, SharedModelsAreComparedWithTheFirstScheme) {
  // The loss of b does not rise with the length, but b is worse than the model
  // as it was trained.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1, 1}, &cells);
  Add("a", 128, "nll", {1.5, 1.5}, &cells);
  Add("b", 64, "nll", {1.8, 1.8}, &cells);
  Add("b", 128, "nll", {1.8, 1.8}, &cells);
  Add("c", 64, "nll", {1.05, 1.05}, &cells);
  Add("c", 128, "nll", {1.08, 1.08}, &cells);
  SummarySpec spec = Spec({"a", "b", "c"}, {64, 128});
  const auto own = SummarizeTrained(spec, kLoss, cells).effective_lengths;
  EXPECT_EQ(own[1].length, 128);
  spec.shares_model = true;
  const auto shared = SummarizeTrained(spec, kLoss, cells).effective_lengths;
  EXPECT_EQ(shared[0].length, 64);
  EXPECT_EQ(shared[1].length, 0);
  EXPECT_EQ(shared[2].length, 128);
}

TEST(EffectiveLengthTest, PartialSummariesHaveNone) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1}, &cells);
  EvaluationSummary summary = SummarizeTrained(Spec({"a"}), kAccuracy, cells);
  EXPECT_EQ(summary.effective_lengths.size(), 1u);
  summary.MarkPartial();
  EXPECT_TRUE(summary.effective_lengths.empty());
  EXPECT_EQ(summary.verdict.kind, VerdictKind::kPartial);
}

}  // namespace
}  // namespace locus
