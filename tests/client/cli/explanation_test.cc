#include "client/cli/explanation.h"

#include <numbers>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kTurn = 2 * std::numbers::pi;

// Three pairs: one stays, one is half way, one is stretched by all of 4.
v1::RotationEncoding Scaled() {
  v1::RotationEncoding rotation;
  for (const double wavelength : {10.0, 80.0, 200.0}) {
    rotation.add_unscaled_frequencies(kTurn / wavelength);
  }
  rotation.add_frequencies(kTurn / 10);
  rotation.add_frequencies(kTurn / 80 * (1 - 0.5 * 0.75));
  rotation.add_frequencies(kTurn / 800);
  rotation.set_attention_factor(1.5);
  rotation.set_original_length(100);
  rotation.set_target_length(400);
  return rotation;
}

TEST(ExplanationTest, CountsTurnsAndStretches) {
  const RotationFacts facts = FactsOf(Scaled(), 0, 0);
  EXPECT_DOUBLE_EQ(facts.Wavelength(0), 10);
  EXPECT_DOUBLE_EQ(facts.TrainedTurns(0), 10);
  EXPECT_DOUBLE_EQ(facts.TargetTurns(0), 40);
  EXPECT_DOUBLE_EQ(facts.Stretch(2), 4);
  EXPECT_NEAR(facts.Ramp(0), 0, 1e-12);
  EXPECT_NEAR(facts.Ramp(1), 0.5, 1e-12);
  EXPECT_NEAR(facts.Ramp(2), 1, 1e-12);
}

TEST(ExplanationTest, NamesPairsThatTrainingNeverCompletes) {
  EXPECT_THAT(FactsOf(Scaled(), 0, 0).Unfinished(), ElementsAre(2));
  EXPECT_THAT(FactsOf(Scaled(), 50, 0).Unfinished(), ElementsAre(1, 2));
  EXPECT_THAT(FactsOf(Scaled(), 1000, 0).Unfinished(), IsEmpty());
  EXPECT_THAT(ExplainRotation(FactsOf(Scaled(), 0, 0)),
              HasSubstr("1 of 3 pairs (2) never complete a turn"));
}

TEST(ExplanationTest, AsksForALengthWhereNobodyKnowsIt) {
  v1::RotationEncoding plain;
  plain.add_frequencies(1);
  plain.set_attention_factor(1);
  const RotationFacts facts = FactsOf(plain, 0, 0);
  EXPECT_THAT(ExplainRotation(facts), HasSubstr("--trained"));
  EXPECT_THAT(facts.Unfinished(), IsEmpty());
  EXPECT_EQ(facts.Stretch(0), 1);
}

TEST(ExplanationTest, PairsThatStandAreNotUnfinished) {
  v1::RotationEncoding rotation;
  rotation.add_frequencies(0);
  rotation.add_unscaled_frequencies(1e-9);
  rotation.set_attention_factor(1);
  const RotationFacts facts = FactsOf(rotation, 100, 0);
  EXPECT_THAT(facts.Unfinished(), IsEmpty());
  EXPECT_THAT(ExplainRotation(facts), HasSubstr("stands still"));
}

TEST(ExplanationTest, SinesAndCosinesTurnButHaveNoScaling) {
  v1::AdditiveEncoding table;
  table.add_frequencies(kTurn / 10);
  table.add_frequencies(kTurn / 200);
  const RotationFacts facts = FactsOf(table, 100, 400);
  EXPECT_DOUBLE_EQ(facts.TrainedTurns(0), 10);
  EXPECT_DOUBLE_EQ(facts.TargetTurns(1), 2);
  EXPECT_THAT(facts.Unfinished(), ElementsAre(1));
  const std::string text = ExplainRotation(facts);
  EXPECT_THAT(text, HasSubstr("values that were never trained"));
  EXPECT_THAT(text, Not(HasSubstr("attention factor")));
  EXPECT_THAT(text, Not(HasSubstr("STRETCHED")));
  EXPECT_EQ(RotationChart(facts, "").curves.size(), 1);
}

TEST(ExplanationTest, TablesEnd) {
  TableFacts facts{.table_length = 100, .policy = "WRAP"};
  EXPECT_THAT(ExplainTable(facts), HasSubstr("--trained"));
  facts.trained_length = 60;
  EXPECT_EQ(facts.UntrainedRows(), 40);
  EXPECT_THAT(ExplainTable(facts), HasSubstr("the last 40 rows"));
  facts.trained_length = 100;
  EXPECT_THAT(ExplainTable(facts), HasSubstr("training reaches every row"));
}

TEST(ExplanationTest, SlopesAndBucketsHaveWords) {
  v1::BiasEncoding bias;
  bias.add_slopes(0.5);
  EXPECT_THAT(ExplainBias(bias), HasSubstr("1.386 positions"));
  bias.clear_slopes();
  bias.add_bucket_edges(1);
  bias.add_bucket_edges(8);
  EXPECT_THAT(ExplainBias(bias), HasSubstr("distances 1, 8"));
}

}  // namespace
}  // namespace locus::client
