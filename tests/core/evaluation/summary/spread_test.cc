// Tests of the spread of results over seeds.
#include "core/evaluation/summary/spread.h"

#include <gtest/gtest.h>

#include "tests/core/evaluation/summary/cells.h"

namespace locus {
namespace {

std::vector<EvaluationSpread> SpreadsOfTrained(
    const LearnedCriterion& criterion,
    const std::vector<EvaluationCell>& cells) {
  return SpreadsOf(Spec({"a", "b"}), criterion, CellTable(cells));
}

TEST(SpreadTest, QuantilesAreInterpolated) {
  std::vector<EvaluationCell> cells;
  Add("a", 128, "accuracy", {0.4, 0.1, 0.2, 0.8}, &cells);
  const auto spreads = SpreadsOfTrained(kAccuracy, cells);
  ASSERT_EQ(spreads.size(), 1u);
  EXPECT_EQ(spreads[0].scheme_name, "a");
  EXPECT_EQ(spreads[0].eval_length, 128);
  EXPECT_EQ(spreads[0].metric, "accuracy");
  // numpy.quantile([0.1, 0.2, 0.4, 0.8], [0, 0.25, 0.5, 0.75, 1])
  EXPECT_DOUBLE_EQ(spreads[0].min, 0.1);
  EXPECT_DOUBLE_EQ(spreads[0].q25, 0.175);
  EXPECT_DOUBLE_EQ(spreads[0].median, 0.3);
  EXPECT_DOUBLE_EQ(spreads[0].q75, 0.5);
  EXPECT_DOUBLE_EQ(spreads[0].max, 0.8);
}

TEST(SpreadTest, OneSeedIsAllQuantiles) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.7}, &cells);
  const auto spreads = SpreadsOfTrained(kAccuracy, cells);
  EXPECT_EQ(spreads[0].min, 0.7);
  EXPECT_EQ(spreads[0].q75, 0.7);
  EXPECT_EQ(spreads[0].max, 0.7);
}

TEST(SpreadTest, WorstSeedHasTheLowestAccuracyOrTheHighestLoss) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.9, 0.2, 0.5}, &cells);
  Add("a", 64, "nll", {1, 2, 3}, &cells);
  EXPECT_EQ(SpreadsOfTrained(kAccuracy, cells)[0].worst_seed, 8u);
  EXPECT_EQ(SpreadsOfTrained(kLoss, cells)[0].worst_seed, 9u);
}

TEST(SpreadTest, ShareAbove95IsOfAccuraciesOnly) {
  std::vector<EvaluationCell> cells;
  Add("a", 64, "accuracy", {0.95, 0.949, 1, 0.2}, &cells);
  Add("b", 64, "nll", {1, 2}, &cells);
  EXPECT_EQ(SpreadsOfTrained(kAccuracy, cells)[0].share_above_95, 0.5);
  EXPECT_FALSE(SpreadsOfTrained(kLoss, cells)[0].share_above_95.has_value());
}

TEST(SpreadTest, CoversEverySchemeAndLength) {
  std::vector<EvaluationCell> cells;
  for (const char* const scheme : {"b", "a"}) {
    for (const int64_t length : {256, 64}) {
      Add(scheme, length, "accuracy", {1, 1}, &cells);
    }
  }
  const auto spreads = SpreadsOfTrained(kAccuracy, cells);
  ASSERT_EQ(spreads.size(), 4u);
  EXPECT_EQ(spreads[0].scheme_name, "a");
  EXPECT_EQ(spreads[0].eval_length, 64);
  EXPECT_EQ(spreads[3].scheme_name, "b");
  EXPECT_EQ(spreads[3].eval_length, 256);
}

}  // namespace
}  // namespace locus
