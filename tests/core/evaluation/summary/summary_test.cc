// Tests of summaries: rows, paired differences, gates and winners.
#include "core/evaluation/summary/summary.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr LearnedCriterion kAccuracy{.metric = "accuracy", .threshold = 0.9};
constexpr LearnedCriterion kLoss{
    .metric = "nll", .higher_is_better = false, .threshold = 2};

EvaluationCell Cell(const std::string& scheme, uint64_t seed, int64_t length,
                    std::map<std::string, double> metrics) {
  EvaluationCell cell;
  cell.scheme_name = scheme;
  cell.seed = seed;
  cell.eval_length = length;
  cell.metrics = std::move(metrics);
  return cell;
}

SummarySpec Spec(std::vector<std::string> schemes,
                 std::vector<int64_t> lengths = {64, 128, 256}) {
  return {std::move(schemes), std::move(lengths), 64, 3};
}

// Adds cells of one scheme at one length, with the seeds 7, 8, ....
void Add(const std::string& scheme, int64_t length, const std::string& metric,
         const std::vector<double>& values,
         std::vector<EvaluationCell>* cells) {
  for (size_t n = 0; n < values.size(); ++n) {
    cells->push_back(Cell(scheme, 7 + n, length, {{metric, values[n]}}));
  }
}

// Cells of three schemes: b wins clearly at 256, a is much worse there than in
// range, and c did not learn.
std::vector<EvaluationCell> ThreeSchemes() {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.99, 0.98, 0.97}, &cells);
  Add("a", 256, "accuracy", {0.5, 0.52, 0.51}, &cells);
  Add("b", 64, "accuracy", {0.95, 0.96, 0.94}, &cells);
  Add("b", 256, "accuracy", {0.9, 0.91, 0.92}, &cells);
  Add("c", 64, "accuracy", {0.5, 0.95, 0.5}, &cells);
  Add("c", 256, "accuracy", {1, 1, 1}, &cells);
  return cells;
}

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

TEST(SummaryWinnerTest, IsBestAtTheLargestLengthAmongSchemesThatLearned) {
  const auto summary =
      SummarizeTrained(Spec({"a", "b", "c"}), kAccuracy, ThreeSchemes());
  EXPECT_EQ(summary.winner, "b");
  EXPECT_THAT(summary.reason,
              HasSubstr("b has the best accuracy at length 256: 0.91"));
  EXPECT_THAT(summary.reason, HasSubstr("against 0.95 in range"));
  EXPECT_THAT(summary.reason, HasSubstr("Second is a with 0.51"));
  EXPECT_THAT(summary.reason, HasSubstr("excludes zero"));
  EXPECT_THAT(summary.reason,
              HasSubstr("much worse at length 256: a (0.98 to 0.51)"));
  EXPECT_THAT(summary.reason, HasSubstr("not compared: c (1 of 3 seeds"));
}

TEST(SummaryWinnerTest, LowerLossWins) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1.5, 1.5}, &cells);
  Add("a", 256, "nll", {4.0, 4.2}, &cells);
  Add("b", 64, "nll", {1.6, 1.6}, &cells);
  Add("b", 256, "nll", {1.6, 1.7}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kLoss, cells);
  EXPECT_EQ(summary.winner, "b");
  EXPECT_THAT(summary.reason, HasSubstr("a (1.5 to 4.1)"));
}

TEST(SummaryWinnerTest, UncertainLeadIsReported) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"a", "b"}) {
    Add(scheme, 64, "accuracy", {1, 1, 1}, &cells);
  }
  Add("a", 256, "accuracy", {0.9, 0.5, 0.7}, &cells);
  Add("b", 256, "accuracy", {0.5, 0.9, 0.72}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "b");
  EXPECT_THAT(summary.reason,
              HasSubstr("includes zero: the lead is not certain"));
}

TEST(SummaryWinnerTest, LeadOverOneSeedIsNotCertain) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"a", "b"}) {
    Add(scheme, 64, "accuracy", {1}, &cells);
  }
  Add("a", 256, "accuracy", {0.9}, &cells);
  Add("b", 256, "accuracy", {0.1}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "a");
  EXPECT_THAT(summary.reason, HasSubstr("the lead is not certain"));
}

TEST(SummaryWinnerTest, TiesGoToTheFirstScheme) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"b", "a"}) {
    Add(scheme, 64, "accuracy", {1, 1}, &cells);
    Add(scheme, 256, "accuracy", {1, 1}, &cells);
  }
  EXPECT_EQ(SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells).winner, "a");
}

TEST(SummaryWinnerTest, TiesAreReported) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"a", "b"}) {
    Add(scheme, 64, "accuracy", {1, 1}, &cells);
    Add(scheme, 256, "accuracy", {0.9, 0.8}, &cells);
  }
  EXPECT_THAT(
      SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells).reason,
      HasSubstr("a, b are equal and have the best accuracy at length 256"));
}

TEST(SummaryWinnerTest, IsBestOverTheCommonSeeds) {
  // a is better than b for every common seed; seeds that b did not finish lower
  // a's mean.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1, 1, 1}, &cells);
  Add("b", 64, "accuracy", {1, 1}, &cells);
  Add("a", 256, "accuracy", {0.9, 0.92, 0.1, 0.1}, &cells);
  Add("b", 256, "accuracy", {0.8, 0.81}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "a");
  EXPECT_THAT(summary.reason,
              HasSubstr("0.91 over 2 seeds (those that all schemes finished)"));
  EXPECT_THAT(summary.reason, HasSubstr("Second is b with 0.805"));
  EXPECT_THAT(summary.reason, HasSubstr("seed by seed, is 0.105"));
}

TEST(SummaryWinnerTest, LeadOfALossExcludesZero) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1, 1, 1}, &cells);
  Add("b", 64, "nll", {1, 1, 1}, &cells);
  Add("a", 256, "nll", {1.1, 1.2, 1.3}, &cells);
  Add("b", 256, "nll", {1.5, 1.6, 1.71}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kLoss, cells);
  EXPECT_EQ(summary.winner, "a");
  EXPECT_THAT(summary.reason, HasSubstr("which excludes zero."));
}

TEST(SummaryWinnerTest, NoWinnerWithoutACommonSeed) {
  const std::vector<EvaluationCell> cells = {
      Cell("a", 7, 64, {{"accuracy", 1}}), Cell("a", 7, 256, {{"accuracy", 1}}),
      Cell("b", 8, 64, {{"accuracy", 1}}),
      Cell("b", 8, 256, {{"accuracy", 0.5}})};
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "");
  EXPECT_THAT(summary.reason, HasSubstr("(a, b) have no finished seed in"));
}

TEST(SummaryWinnerTest, UsesTheLargestCommonLength) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1}, &cells);
  Add("a", 128, "accuracy", {0.8}, &cells);
  Add("a", 256, "accuracy", {0.7}, &cells);
  Add("b", 64, "accuracy", {1}, &cells);
  Add("b", 128, "accuracy", {0.9}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "b");
  EXPECT_THAT(summary.reason, HasSubstr("at length 128"));
}

TEST(SummaryWinnerTest, NoWinnerIfNoSchemeLearned) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.5, 0.6}, &cells);
  Add("a", 256, "accuracy", {1, 1}, &cells);
  const auto summary = SummarizeTrained(Spec({"a"}), kAccuracy, cells);
  EXPECT_EQ(summary.winner, "");
  EXPECT_THAT(summary.reason, HasSubstr("no scheme learned the task"));
  EXPECT_THAT(summary.reason, HasSubstr("mean 0.55"));
}

TEST(SummaryWinnerTest, UnfinishedSchemeIsNotReportedAsNotLearned) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1}, &cells);
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, cells);
  EXPECT_EQ(summary.gates.size(), 1u);
  EXPECT_THAT(summary.reason, HasSubstr("Not finished in range"));
  EXPECT_THAT(summary.reason, Not(HasSubstr("Did not learn")));
}

TEST(SummaryWinnerTest, NoWinnerWithoutCells) {
  const auto summary = SummarizeTrained(Spec({"a", "b"}), kAccuracy, {});
  EXPECT_EQ(summary.winner, "");
  EXPECT_TRUE(summary.rows.empty());
}

// Cell of pattern mode with the metrics that decide.
EvaluationCell Pattern(const std::string& scheme, int64_t length, double effect,
                       double entropy, double mass, double distance,
                       uint64_t seed = 0) {
  return Cell(scheme, seed, length,
              {{"position_effect", effect},
               {"entropy_shared", entropy},
               {"window_mass_shared", mass},
               {"mean_distance_shared", distance}});
}

TEST(SummaryPatternsTest, LeastChangeWinsAmongSchemesWithPositions) {
  const std::vector<EvaluationCell> cells = {
      Pattern("none", 64, 0, 0.9, 0.75, 20),
      Pattern("none", 256, 0, 0.9, 0.75, 20),
      Pattern("rope", 64, 0.3, 0.9, 0.75, 20),
      Pattern("rope", 256, 0.3, 0.9, 0.25, 80),
      Pattern("alibi", 64, 0.3, 0.8, 0.9, 10),
      Pattern("alibi", 256, 0.3, 0.7, 0.8, 20)};
  const auto summary =
      SummarizePatterns(Spec({"none", "rope", "alibi"}, {64, 256}), cells);
  EXPECT_EQ(summary.winner, "alibi");
  // (0.1 + 0.1 + 10 / 20) / 3 and (0 + 0.5 + 60 / 80) / 3
  EXPECT_THAT(summary.reason, HasSubstr("by 0.2333 on average"));
  EXPECT_THAT(summary.reason, HasSubstr("rope 0.4167"));
  EXPECT_THAT(summary.reason, HasSubstr("attention: none (0)"));
  EXPECT_THAT(summary.reason, HasSubstr("not a measured quality"));
  EXPECT_TRUE(summary.gates.empty());
  EXPECT_EQ(summary.rows.size(), 24u);
}

TEST(SummaryPatternsTest, TiesAreReported) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"alibi", "alibi#2"}) {
    cells.push_back(Pattern(scheme, 64, 0.3, 0.8, 0.9, 10));
    cells.push_back(Pattern(scheme, 256, 0.3, 0.7, 0.8, 20));
  }
  const auto summary =
      SummarizePatterns(Spec({"alibi", "alibi#2"}, {64, 256}), cells);
  EXPECT_EQ(summary.winner, "alibi");
  EXPECT_THAT(summary.reason,
              HasSubstr("Equal to it: alibi#2; alibi was requested first."));
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
  EXPECT_EQ(summary.winner, "alibi");
  EXPECT_THAT(summary.reason, HasSubstr("not finite: rope, learned, t5_bias."));
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
  EXPECT_EQ(summary.winner, "alibi");
  EXPECT_THAT(summary.reason,
              HasSubstr("from length 64 to 256, over 1 seed (those that all "
                        "schemes finished): by 0.06667 on average "
                        "(entropy_shared 0.8 to 0.7,"));
  EXPECT_THAT(summary.reason, HasSubstr("rope 0.1333"));
}

TEST(SummaryPatternsTest, NoWinnerWithoutACommonSeed) {
  const std::vector<EvaluationCell> cells = {
      Pattern("alibi", 64, 0.3, 0.8, 0.8, 10, 0),
      Pattern("alibi", 256, 0.3, 0.7, 0.7, 10, 0),
      Pattern("rope", 64, 0.3, 0.8, 0.8, 10, 1),
      Pattern("rope", 256, 0.3, 0.6, 0.6, 10, 1)};
  const auto summary =
      SummarizePatterns(Spec({"alibi", "rope"}, {64, 256}), cells);
  EXPECT_EQ(summary.winner, "");
  EXPECT_THAT(summary.reason, HasSubstr("(alibi, rope) have no finished seed "
                                        "in common beyond length 64."));
}

TEST(SummaryPatternsTest, NoWinnerWithoutPositions) {
  const std::vector<EvaluationCell> cells = {
      Pattern("none", 64, 0, 0.9, 0.75, 20),
      Pattern("none", 256, 0, 0.9, 0.25, 80)};
  const auto summary = SummarizePatterns(Spec({"none"}, {64, 256}), cells);
  EXPECT_EQ(summary.winner, "");
  EXPECT_THAT(summary.reason, HasSubstr("No winner"));
}

TEST(SummaryPatternsTest, NoWinnerWithOneLength) {
  const auto summary = SummarizePatterns(
      Spec({"rope"}, {64}),
      std::vector<EvaluationCell>{Pattern("rope", 64, 0.3, 0.9, 0.75, 20)});
  EXPECT_EQ(summary.winner, "");
}

}  // namespace
}  // namespace locus
