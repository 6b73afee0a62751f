// Tests of the verdicts of trained models, with and without a winner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/evaluation/summary/summary.h"
#include "tests/core/evaluation/summary/cells.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The verdict on the schemes a, b and c as far as they have cells.
EvaluationVerdict VerdictOf(const LearnedCriterion& criterion,
                            const std::vector<EvaluationCell>& cells,
                            SummarySpec spec = Spec({"a", "b"})) {
  return SummarizeTrained(spec, criterion, cells).verdict;
}

// Cells of two schemes that learned the task, with these values at 256.
std::vector<EvaluationCell> TwoSchemes(const std::vector<double>& a,
                                       const std::vector<double>& b) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", std::vector<double>(a.size(), 1), &cells);
  Add("b", 64, "accuracy", std::vector<double>(b.size(), 1), &cells);
  Add("a", 256, "accuracy", a, &cells);
  Add("b", 256, "accuracy", b, &cells);
  return cells;
}

TEST(VerdictTest, WinnerBeatsChanceAndTheSecond) {
  const auto verdict =
      VerdictOf(kAccuracy, TwoSchemes({0.6, 0.62, 0.61}, {0.9, 0.91, 0.92}));
  EXPECT_EQ(verdict.kind, VerdictKind::kWinner);
  EXPECT_EQ(verdict.winner, "b");
  EXPECT_THAT(verdict.text,
              HasSubstr("b has accuracy 0.91 at length 256, 95 % interval "
                        "[0.885, 0.935] over 3 seeds, against 0.5 by chance "
                        "and 1 at the training length 64."));
  EXPECT_THAT(verdict.text, HasSubstr("Second is a with 0.61"));
  EXPECT_THAT(verdict.text, HasSubstr("which excludes zero"));
  EXPECT_THAT(verdict.text, HasSubstr("More than 20 % worse there than at "
                                      "length 64: a."));
  EXPECT_EQ(verdict.next_step, "");
}

TEST(VerdictTest, NothingWinsAtChance) {
  std::vector<EvaluationCell> cells =
      TwoSchemes({0.5, 0.5, 0.5}, {0.5, 0.502, 0.498});
  Add("b", 128, "accuracy", {0.5, 0.7, 0.4}, &cells);
  Add("a", 128, "accuracy", {0.5, 0.5, 0.5}, &cells);
  const auto verdict = VerdictOf(kAccuracy, cells);
  EXPECT_EQ(verdict.kind, VerdictKind::kAtChance);
  EXPECT_EQ(verdict.winner, "");
  EXPECT_THAT(verdict.text,
              StartsWith("No winner beyond 64 tokens: nothing beats chance "
                         "(0.5). Longest length at which a scheme does: 64 "
                         "(a 1)."));
  EXPECT_EQ(verdict.next_step,
            "To see where each scheme stops, try --eval-lengths "
            "64,80,96,112,128.");
}

TEST(VerdictTest, LongestLengthAboveChanceNamesTheBestSchemeThere) {
  std::vector<EvaluationCell> cells =
      TwoSchemes({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5});
  Add("a", 128, "accuracy", {0.7, 0.71, 0.72}, &cells);
  Add("b", 128, "accuracy", {0.8, 0.81, 0.82}, &cells);
  EXPECT_THAT(VerdictOf(kAccuracy, cells).text,
              StartsWith("No winner beyond 128 tokens: nothing beats chance "
                         "(0.5). Longest length at which a scheme does: 128 "
                         "(b 0.81)."));
}

TEST(VerdictTest, WorseThanChanceIsNotBetterThanChance) {
  EXPECT_EQ(
      VerdictOf(kAccuracy, TwoSchemes({0.1, 0.11, 0.12}, {0.2, 0.2, 0.21}))
          .kind,
      VerdictKind::kAtChance);
}

TEST(VerdictTest, OneSeedMakesNoWinner) {
  const auto verdict = VerdictOf(kAccuracy, TwoSchemes({0.99}, {0.1}));
  EXPECT_EQ(verdict.kind, VerdictKind::kOneSeed);
  EXPECT_EQ(verdict.winner, "");
  EXPECT_THAT(verdict.text,
              StartsWith("Best of one seed, not a result: a with accuracy 0.99 "
                         "at length 256, against 0.5 by chance."));
  EXPECT_EQ(verdict.next_step, "Run --seeds 3 for a result.");
}

TEST(VerdictTest, UncertainLeadMakesNoWinner) {
  const auto verdict =
      VerdictOf(kAccuracy, TwoSchemes({0.9, 0.7, 0.8}, {0.75, 0.85, 0.82}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNoClearWinner);
  EXPECT_EQ(verdict.winner, "");
  EXPECT_THAT(verdict.text, StartsWith("No clear winner at length 256: b has "
                                       "accuracy 0.807 and a 0.8; the paired "
                                       "difference is 0.00667"));
  EXPECT_THAT(verdict.text, HasSubstr("which includes zero"));
  EXPECT_EQ(verdict.next_step, "More seeds may decide: --seeds 6.");
}

TEST(VerdictTest, LeadIsPairedBySeed) {
  // The seeds vary more than the schemes differ, but b leads for every seed.
  const auto verdict =
      VerdictOf(kAccuracy, TwoSchemes({0.7, 0.8, 0.9}, {0.75, 0.851, 0.949}));
  EXPECT_EQ(verdict.winner, "b");
}

TEST(VerdictTest, BestMeanWithAWideIntervalMakesNoWinner) {
  // a has the best mean, but may be at chance; b certainly beats it.
  const auto verdict =
      VerdictOf(kAccuracy, TwoSchemes({1, 1, 0.3}, {0.6, 0.61, 0.62}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNoClearWinner);
  EXPECT_THAT(verdict.text, HasSubstr("a has the best mean, but its 95 % "
                                      "interval"));
  EXPECT_THAT(verdict.text, HasSubstr("includes chance (0.5)"));
}

TEST(VerdictTest, EqualSchemesNeedLongerLengths) {
  const auto verdict =
      VerdictOf(kAccuracy, TwoSchemes({0.9, 0.8, 1}, {0.9, 0.8, 1}));
  EXPECT_EQ(verdict.kind, VerdictKind::kNoClearWinner);
  EXPECT_THAT(verdict.text, HasSubstr("they are equal for every seed"));
  EXPECT_EQ(verdict.next_step, "Test lengths beyond 256 with --eval-lengths.");
}

TEST(VerdictTest, LowerLossWinsIfItBeatsTheBaseline) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1.5, 1.5, 1.5}, &cells);
  Add("b", 64, "nll", {1.6, 1.6, 1.6}, &cells);
  Add("a", 256, "nll", {4.0, 4.2, 4.1}, &cells);
  Add("b", 256, "nll", {1.6, 1.7, 1.65}, &cells);
  const auto verdict = VerdictOf(kLoss, cells);
  EXPECT_EQ(verdict.winner, "b");
  EXPECT_THAT(verdict.text, HasSubstr("against 3 by byte frequencies alone"));
}

TEST(VerdictTest, LossAboveTheBaselineDoesNotWin) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {1.5, 1.5, 1.5}, &cells);
  Add("b", 64, "nll", {1.6, 1.6, 1.6}, &cells);
  Add("a", 256, "nll", {4.0, 4.2, 4.1}, &cells);
  Add("b", 256, "nll", {3.1, 3.2, 3.15}, &cells);
  const auto verdict = VerdictOf(kLoss, cells);
  EXPECT_EQ(verdict.kind, VerdictKind::kAtChance);
  EXPECT_THAT(verdict.text,
              StartsWith("No winner beyond 64 tokens: nothing beats byte "
                         "frequencies alone (nll 3). Longest length at which a "
                         "scheme does: 64 (a 1.5)."));
}

TEST(VerdictTest, NothingLearnedSuggestsMoreSteps) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "nll", {2.5, 2.6}, &cells);
  Add("b", 64, "nll", {2.4, 2.3}, &cells);
  const auto verdict = VerdictOf(kLoss, cells);
  EXPECT_EQ(verdict.kind, VerdictKind::kNotLearned);
  EXPECT_EQ(
      verdict.text,
      "No winner: none reached nll 2 at length 64 in 100 steps; the best, "
      "b, reached 2.35.");
  EXPECT_EQ(verdict.next_step, "Try --steps 1000.");
}

TEST(VerdictTest, OnlyOneSchemeThatLearnedHasNothingToCompare) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1, 1}, &cells);
  Add("b", 64, "accuracy", {0.5, 0.95, 0.5}, &cells);
  Add("a", 256, "accuracy", {0.9, 0.91, 0.92}, &cells);
  Add("b", 256, "accuracy", {1, 1, 1}, &cells);
  const auto verdict = VerdictOf(kAccuracy, cells);
  EXPECT_EQ(verdict.kind, VerdictKind::kNoComparison);
  EXPECT_THAT(verdict.text, StartsWith("Only a learned the task, so there is "
                                       "nothing to compare. a has accuracy "
                                       "0.91 at length 256"));
  EXPECT_THAT(verdict.text,
              HasSubstr("Did not learn the task and not compared: b."));
}

TEST(VerdictTest, SchemesThatDidNotLearnAreListedInOneClause) {
  std::vector<EvaluationCell> cells;
  std::vector<std::string> names;
  for (int n = 0; n < 10; ++n) {
    names.push_back("s" + std::to_string(n));
    Add(names.back(), 64, "accuracy", std::vector<double>(3, n < 2 ? 1 : 0.5),
        &cells);
    Add(names.back(), 256, "accuracy",
        {0.7 + 0.1 * n, 0.71 + 0.1 * n, 0.72 + 0.1 * n}, &cells);
  }
  EXPECT_THAT(VerdictOf(kAccuracy, cells, Spec(names)).text,
              HasSubstr("not compared: s2, s3, s4, s5, s6, s7 and 2 more."));
}

TEST(VerdictTest, ComparesOverTheCommonSeeds) {
  // a is better than b for every common seed; seeds that b did not finish lower
  // a's mean.
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1, 1, 1, 1}, &cells);
  Add("b", 64, "accuracy", {1, 1}, &cells);
  Add("a", 256, "accuracy", {0.9, 0.92, 0.1, 0.1}, &cells);
  Add("b", 256, "accuracy", {0.8, 0.82}, &cells);
  const auto verdict = VerdictOf(kAccuracy, cells);
  EXPECT_EQ(verdict.winner, "a");
  EXPECT_THAT(verdict.text,
              HasSubstr("over 2 seeds (those that all schemes finished)"));
}

TEST(VerdictTest, NoWinnerWithoutACommonSeed) {
  const std::vector<EvaluationCell> cells = {
      Cell("a", 7, 64, {{"accuracy", 1}}), Cell("a", 7, 256, {{"accuracy", 1}}),
      Cell("b", 8, 64, {{"accuracy", 1}}),
      Cell("b", 8, 256, {{"accuracy", 0.5}})};
  const auto verdict = VerdictOf(kAccuracy, cells);
  EXPECT_EQ(verdict.winner, "");
  EXPECT_THAT(verdict.text,
              HasSubstr("(a, b) have no finished seed in common"));
}

TEST(VerdictTest, UnfinishedSchemeIsNotReportedAsNotLearned) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {1}, &cells);
  const auto verdict = VerdictOf(kAccuracy, cells);
  EXPECT_THAT(verdict.text, HasSubstr("Not finished in range"));
  EXPECT_THAT(verdict.text, Not(HasSubstr("Did not learn")));
}

TEST(VerdictTest, NoWinnerWithoutCells) {
  EXPECT_EQ(VerdictOf(kAccuracy, {}).winner, "");
}

TEST(VerdictTest, ReasonIsTheTextAndTheNextStep) {
  const EvaluationVerdict verdict{.text = "No winner.", .next_step = "Wait."};
  EXPECT_EQ(verdict.Reason(), "No winner. Wait.");
  EXPECT_EQ(EvaluationVerdict{.text = "No winner."}.Reason(), "No winner.");
}

}  // namespace
}  // namespace locus
