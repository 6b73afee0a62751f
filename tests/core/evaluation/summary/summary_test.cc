// Tests of summaries: rows, paired differences, gates, patterns, curves and
// answers. verdict_test.cc tests the verdicts of trained models.
#include "core/evaluation/summary/summary.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/evaluation/summary/cells.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SummaryRowsTest, OrderDoesNotDependOnTheCells) {
  const auto cells = std::vector<EvaluationCell>{
      Cell("b", 1, 64, {{"x", 1}}), Cell("a", 2, 128, {{"x", 4}}),
      Cell("a", 1, 64, {{"y", 3}, {"x", 2}}), Cell("a", 1, 128, {{"x", 2}})};
  const auto rows = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells).rows;
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].scheme_name + rows[0].metric, "ax");
  EXPECT_EQ(rows[1].scheme_name + rows[1].metric, "ay");
  EXPECT_EQ(rows[2].eval_length, 128);
  EXPECT_EQ(rows[2].mean, 3);
  EXPECT_EQ(rows[2].count, 2);
  EXPECT_EQ(rows[3].scheme_name, "b");
}

TEST(SummaryRowsTest, HaveStudentsInterval) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 2, 3}, &cells);
  const auto rows = SummarizeTrained(Spec({"a"}), kAccuracy, cells).rows;
  EXPECT_NEAR(rows[0].ci_low, 2 - 2.484137711949, 1e-9);
  EXPECT_NEAR(rows[0].ci_high, 2 + 2.484137711949, 1e-9);
}

TEST(SummaryDifferencesTest, ArePairedBySeed) {
  // Values vary between seeds, but the difference of the schemes does not.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.1, 0.5, 0.9}, &cells);
  Add("b", 64, "accuracy", {0.2, 0.6, 1.0}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  ASSERT_EQ(summary.differences.size(), 1u);
  const EvaluationDifference& difference = summary.differences[0];
  EXPECT_EQ(difference.scheme_name, "b");
  EXPECT_EQ(difference.baseline_name, "a");
  EXPECT_NEAR(difference.mean, 0.1, 1e-12);
  EXPECT_NEAR(difference.ci_low, 0.1, 1e-12);
  EXPECT_EQ(difference.count, 3);
}

TEST(SummaryDifferencesTest, IgnoreSeedsThatOneSchemeDidNotFinish) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.1, 0.5}, &cells);
  Add("b", 64, "accuracy", {0.2, 0.6, 1.0}, &cells);
  Add("b", 128, "accuracy", {0.2}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  ASSERT_EQ(summary.differences.size(), 1u);
  EXPECT_EQ(summary.differences[0].count, 2);
}

TEST(SummaryGatesTest, HalfOfTheSeedsSuffice) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.9, 0.1}, &cells);
  Add("b", 64, "accuracy", {0.9, 0.1, 0.1}, &cells);
  const auto gates = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells).gates;
  ASSERT_EQ(gates.size(), 2u);
  EXPECT_EQ(gates[0].learned_share, 0.5);
  EXPECT_TRUE(gates[0].passed);
  EXPECT_EQ(gates[0].threshold, 0.9);
  EXPECT_EQ(gates[0].metric, "accuracy");
  EXPECT_FALSE(gates[1].passed);
}

TEST(SummaryGatesTest, LowerIsBetterForLosses) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {2.0, 1.5}, &cells);
  Add("b", 64, "nll", {2.1, 2.1}, &cells);
  const auto gates = SummarizeTrained(Spec({"a", "b"}), kLoss, cells).gates;
  EXPECT_TRUE(gates[0].passed);
  EXPECT_EQ(gates[0].learned_share, 1);
  EXPECT_FALSE(gates[1].passed);
}

TEST(SummaryGatesTest, AllSchemesOfASharedModelHaveTheGateOfTheFirst) {
  // yarn is worse than the threshold, but the model was trained with rope.
  std::vector<EvaluationCell> cells;
  Add("rope", 64, "nll", {1.5, 1.6}, &cells);
  Add("yarn", 64, "nll", {2.5, 2.6}, &cells);
  SummarySpec spec = Spec({"rope", "yarn"});
  spec.shares_model = true;
  const auto gates = SummarizeTrained(spec, kLoss, cells).gates;
  ASSERT_EQ(gates.size(), 2u);
  EXPECT_TRUE(gates[1].passed);
  EXPECT_EQ(gates[1].scheme_name, "yarn");
  EXPECT_EQ(gates[1].learned_share, 1);
}

TEST(SummaryGatesTest, StateTheChanceLevel) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.9}, &cells);
  EXPECT_EQ(SummarizeTrained(Spec({"a"}), kAccuracy, cells).gates[0].chance,
            0.5);
}

TEST(SummaryCurvesTest, AreThoseOfTheCellsInOrder) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1}, &cells);
  Add("a", 128, "accuracy", {1, 1}, &cells);
  cells[0].training_curve = {"a", 7, {1, 2}, {3, 2}};
  cells[1].training_curve = {"a", 8, {1, 2}, {3, 1}};
  const auto curves =
      SummarizeTrained(Spec({"a"}), kAccuracy, cells).training_curves;
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].seed, 7u);
  EXPECT_EQ(curves[1].losses, (std::vector<double>{3, 1}));
}

TEST(SummaryAnswersTest, AreMeansOverSeedsByQuestionAndScheme) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1}, &cells);
  Add("b", 64, "accuracy", {1}, &cells);
  cells[0].sorted_probabilities = {0.1, 0.8};
  cells[1].sorted_probabilities = {0.3, 1};
  cells[2].sorted_probabilities = {0.5, 0.6};
  SummarySpec spec = Spec({"a", "b"});
  spec.questions = {{3, 1, 4, 2}, {1, 2}};
  const auto answers =
      SummarizeTrained(spec, kAccuracy, cells).ordering_answers;
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0].scheme_name, "a");
  EXPECT_EQ(answers[0].values, (std::vector<int64_t>{3, 1, 4, 2}));
  EXPECT_DOUBLE_EQ(answers[0].probability, 0.2);
  EXPECT_LT(answers[0].ci_low, 0.2);
  EXPECT_EQ(answers[0].count, 2);
  EXPECT_EQ(answers[1].scheme_name, "b");
  EXPECT_DOUBLE_EQ(answers[2].probability, 0.9);
}

// Cell of pattern mode with the metrics that decide.
EvaluationCell Pattern(const std::string& scheme, int64_t length, double effect,
                       double entropy, double mass, double distance,
                       uint64_t seed = 0) {
  return Cell(scheme, seed, length,
              {{"position_effect", effect},
               {"entropy_shared", entropy},
               {"window_mass_shared", mass},
               {"mean_distance_shared", distance},
               {"score_drift", 1 - mass}});
}

TEST(SummaryPatternsTest, SteadiestMapIsNamedAndNothingWins) {
  const std::vector<EvaluationCell> cells = {
      Pattern("none", 64, 0, 0.9, 0.75, 20),
      Pattern("none", 256, 0, 0.9, 0.75, 20),
      Pattern("rope", 64, 0.3, 0.9, 0.75, 20),
      Pattern("rope", 256, 0.3, 0.9, 0.25, 80),
      Pattern("alibi", 64, 0.3, 0.8, 0.9, 10),
      Pattern("alibi", 256, 0.3, 0.7, 0.8, 20)};
  const auto summary =
      SummarizePatterns(Spec({"none", "rope", "alibi"}, {64, 256}), cells);
  EXPECT_EQ(summary.verdict.kind, VerdictKind::kPattern);
  EXPECT_EQ(summary.verdict.winner, "");
  const std::string& text = summary.verdict.text;
  EXPECT_THAT(text, HasSubstr("Steadiest map: alibi. From length 64 to 256"));
  // (0.1 + 0.1 + 10 / 20) / 3 and (0 + 0.5 + 60 / 80) / 3
  EXPECT_THAT(text, HasSubstr("alibi changes by 0.233 on a scale"));
  EXPECT_THAT(text, HasSubstr("Others: rope 0.417."));
  EXPECT_THAT(text, HasSubstr("attention: none (0)"));
  EXPECT_THAT(text, HasSubstr("Nothing was trained, so nothing wins"));
  EXPECT_TRUE(summary.gates.empty());
  EXPECT_TRUE(summary.effective_lengths.empty());
  EXPECT_TRUE(summary.spreads.empty());
  EXPECT_EQ(summary.rows.size(), 30u);
}

TEST(SummaryPatternsTest, LargestDriftIsNamedAndExplained) {
  const std::vector<EvaluationCell> cells = {
      Pattern("rope", 64, 0.3, 0.9, 0.75, 20),
      Pattern("rope", 256, 0.3, 0.9, 0.25, 80),
      Pattern("alibi", 64, 0.3, 0.8, 0.9, 10),
      Pattern("alibi", 256, 0.3, 0.7, 0.8, 20)};
  const SummarySpec spec = Spec({"rope", "alibi"}, {64, 256});
  EXPECT_THAT(SummarizePatterns(spec, cells).verdict.text,
              HasSubstr("Largest drift: rope; its mean score at distances of "
                        "64 and more differs from that below by 0.75 nats."));
  EXPECT_THAT(SummarizePatterns(spec, cells).verdict.text,
              Not(HasSubstr("no contradiction")));
  std::vector<EvaluationCell> drifting = cells;
  drifting[3].metrics["score_drift"] = 3.2;
  EXPECT_THAT(SummarizePatterns(spec, drifting).verdict.text,
              HasSubstr("below by 3.2 nats. That is no contradiction"));
}

TEST(SummaryPatternsTest, TiesAreReported) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"alibi", "twin"}) {
    cells.push_back(Pattern(scheme, 64, 0.3, 0.8, 0.9, 10));
    cells.push_back(Pattern(scheme, 256, 0.3, 0.7, 0.8, 20));
  }
  const auto summary =
      SummarizePatterns(Spec({"alibi", "twin"}, {64, 256}), cells);
  EXPECT_THAT(summary.verdict.text, HasSubstr("Steadiest map: alibi, twin."));
}

TEST(SummaryPatternsTest, SchemeWithMissingMetricsIsNamed) {
  std::vector<EvaluationCell> cells = {
      Pattern("alibi", 64, 0.3, 0.8, 0.9, 10),
      Pattern("alibi", 256, 0.3, 0.7, 0.8, 20),
      Pattern("rope", 64, 0.3, 0.9, 0.75, 20),
      Pattern("rope", 256, 0.3, 0.9, 0.25, 80),
      Pattern("learned", 64, 0.3, 0.9, 0.75, 20),
      Pattern("learned", 256, 0.3, 0.9, 0.75, 20),
      Pattern("t5_bias", 64, 0.3, 0.9, 0.75, 20),
      Pattern("t5_bias", 256, 0.3, 0.9, 0.75, 20)};
  cells[7].metrics.erase("mean_distance_shared");
  cells[2].metrics.erase("position_effect");
  cells[5].metrics.erase("entropy_shared");
  const auto summary = SummarizePatterns(
      Spec({"alibi", "rope", "learned", "t5_bias"}, {64, 256}), cells);
  EXPECT_THAT(summary.verdict.text,
              HasSubstr("not finite: rope, learned, t5_bias."));
}

TEST(SummaryPatternsTest, ChangeIsOverTheCommonSeeds) {
  // alibi changes less for the common seed; a seed that rope did not finish
  // increases alibi's mean change.
  const std::vector<EvaluationCell> cells = {
      Pattern("alibi", 64, 0.3, 0.8, 0.8, 10, 0),
      Pattern("alibi", 256, 0.3, 0.7, 0.7, 10, 0),
      Pattern("rope", 64, 0.3, 0.8, 0.8, 10, 0),
      Pattern("rope", 256, 0.3, 0.6, 0.6, 10, 0),
      Pattern("alibi", 64, 0.3, 0.8, 0.8, 10, 1),
      Pattern("alibi", 256, 0.3, 0.1, 0.1, 40, 1),
      Pattern("rope", 64, 0.3, 0.8, 0.8, 10, 1),
      Pattern("rope", 128, 0.3, 0.8, 0.8, 10, 1)};
  const auto summary =
      SummarizePatterns(Spec({"alibi", "rope"}, {64, 128, 256}), cells);
  EXPECT_THAT(summary.verdict.text,
              HasSubstr("From length 64 to 256, over 1 seed (those that all "
                        "schemes finished), the attention of alibi changes by "
                        "0.0667 on a scale"));
  EXPECT_THAT(summary.verdict.text, HasSubstr("(entropy 0.8 to 0.7,"));
  EXPECT_THAT(summary.verdict.text, HasSubstr("rope 0.133"));
}

TEST(SummaryPatternsTest, NothingIsComparedWithoutACommonSeed) {
  const std::vector<EvaluationCell> cells = {
      Pattern("alibi", 64, 0.3, 0.8, 0.8, 10, 0),
      Pattern("alibi", 256, 0.3, 0.7, 0.7, 10, 0),
      Pattern("rope", 64, 0.3, 0.8, 0.8, 10, 1),
      Pattern("rope", 256, 0.3, 0.6, 0.6, 10, 1)};
  const auto summary =
      SummarizePatterns(Spec({"alibi", "rope"}, {64, 256}), cells);
  EXPECT_THAT(summary.verdict.text,
              HasSubstr("(alibi, rope) have no finished seed in common beyond "
                        "length 64."));
}

TEST(SummaryPatternsTest, NothingIsComparedWithoutPositions) {
  const std::vector<EvaluationCell> cells = {
      Pattern("none", 64, 0, 0.9, 0.75, 20),
      Pattern("none", 256, 0, 0.9, 0.25, 80)};
  const auto summary = SummarizePatterns(Spec({"none"}, {64, 256}), cells);
  EXPECT_THAT(summary.verdict.text, HasSubstr("Patterns cannot be compared"));
}

TEST(SummaryPatternsTest, OneLengthLeadsToASuggestion) {
  const auto summary = SummarizePatterns(
      Spec({"rope"}, {64}),
      std::vector<EvaluationCell>{Pattern("rope", 64, 0.3, 0.9, 0.75, 20)});
  EXPECT_THAT(summary.verdict.next_step, HasSubstr("--eval-lengths"));
}

}  // namespace
}  // namespace locus
