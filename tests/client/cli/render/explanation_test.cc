#include "client/cli/render/explanation.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kTurn = 2 * std::numbers::pi;

// A rotation of three pairs, scaled by 4. The ramp leaves the first pair
// unchanged, applies half of the scaling to the second and all of it to the
// third. The third pair completes no turn within the trained length.
v1::RotationEncoding ScaledRotation() {
  v1::RotationEncoding rotation;
  for (const double wavelength : {10.0, 80.0, 200.0}) {
    rotation.add_unscaled_frequencies(kTurn / wavelength);
    rotation.add_original_turns(100 / wavelength);
  }
  for (const double frequency :
       {kTurn / 10, kTurn / 80 * (1 - 0.5 * 0.75), kTurn / 800}) {
    rotation.add_frequencies(frequency);
    rotation.add_target_turns(400 * frequency / kTurn);
  }
  for (const double ramp : {0.0, 0.5, 1.0}) rotation.add_ramp(ramp);
  rotation.add_incomplete_pairs(2);
  rotation.set_attention_factor(1.5);
  rotation.set_original_length(100);
  rotation.set_target_length(400);
  return rotation;
}

std::string Explained(const RotationFacts& facts) {
  return ExplainRotation(facts, JudgeAngles(facts));
}

TEST(ExplanationTest, ShowsTheNumbersOfTheResponse) {
  const RotationFacts facts = FactsOf(ScaledRotation());
  EXPECT_DOUBLE_EQ(facts.Wavelength(0), 10);
  EXPECT_DOUBLE_EQ(facts.Stretch(2), 4);
  const auto json = RotationJson(facts, JudgeAngles(facts));
  EXPECT_EQ(json["never_completed"].dump(), "[2]");
  EXPECT_EQ(json["pairs"][1]["ramp"], 0.5);
  EXPECT_EQ(json["pairs"][0]["trained_turns"], 10);
  EXPECT_DOUBLE_EQ(json["pairs"][0]["target_turns"], 40);
  const std::string text = Explained(facts);
  EXPECT_THAT(text, HasSubstr("RAMP"));
  EXPECT_THAT(text, HasSubstr("IN 100  IN 400  ANGLES"));
}

TEST(ExplanationTest, VerdictOfAScalingThatReachesItsTarget) {
  const RotationFacts facts = FactsOf(ScaledRotation());
  const std::string text = Explained(facts);
  EXPECT_THAT(text, HasSubstr("Verdict: safe at 400 tokens."));
  EXPECT_THAT(text,
              HasSubstr("Safe up to 400 tokens, 4 times the trained 100"));
  EXPECT_THAT(text, HasSubstr("- 2 of 3 pairs (0 to 1) complete a turn"));
  EXPECT_THAT(text, HasSubstr("- 1 of 3 pairs (2) completes no turn in "
                              "training; stretched by 4, it stays"));
  const auto json = RotationJson(facts, JudgeAngles(facts));
  EXPECT_EQ(json["verdict"]["safe"], true);
  EXPECT_EQ(json["verdict"]["safe_length"], 400);
  EXPECT_EQ(json["pairs"][0]["angles"], "full_turn");
  EXPECT_TRUE(json["pairs"][0]["safe_length"].is_null());
  EXPECT_EQ(json["pairs"][2]["angles"], "within");
}

TEST(ExplanationTest, VerdictOfAScalingThatFallsShortOfItsTarget) {
  v1::RotationEncoding rotation = ScaledRotation();
  rotation.set_target_length(800);
  for (double& turns : *rotation.mutable_target_turns()) turns *= 2;
  const RotationFacts facts = FactsOf(rotation);
  const std::string text = Explained(facts);
  EXPECT_THAT(text, HasSubstr("Verdict: not safe at 800 tokens. 1 of 3 pairs "
                              "(2) reaches 2 times its trained"));
  EXPECT_THAT(text, HasSubstr("- Safe up to 400 tokens"));
  EXPECT_THAT(text, HasSubstr("the target is 8 times"));
  EXPECT_THAT(text, HasSubstr("new, 2\xc3\x97"));
  const auto json = RotationJson(facts, JudgeAngles(facts));
  EXPECT_EQ(json["verdict"]["safe"], false);
  EXPECT_EQ(json["verdict"]["beyond"].dump(), "[2]");
  EXPECT_EQ(json["pairs"][2]["angles"], "beyond");
}

TEST(ExplanationTest, PrintsLengthsAndWavelengthsAsIntegers) {
  v1::RotationEncoding rotation = ScaledRotation();
  rotation.set_original_length(8192);
  rotation.set_target_length(131072);
  rotation.set_frequencies(2, kTurn / 20473564);
  const std::string text = Explained(FactsOf(rotation));
  EXPECT_THAT(text, AllOf(HasSubstr("IN 8192"), HasSubstr("IN 131072"),
                          HasSubstr(" 20473564 ")));
  EXPECT_THAT(text, Not(HasSubstr("e+")));
}

TEST(ExplanationTest, PrefersFrequenciesOfTheTargetLength) {
  v1::RotationEncoding rotation = ScaledRotation();
  rotation.mutable_target_frequencies()->Add(1);
  rotation.mutable_target_frequencies()->Add(0.5);
  rotation.mutable_target_frequencies()->Add(0.25);
  EXPECT_THAT(FactsOf(rotation).frequencies, ElementsAre(1, 0.5, 0.25));
}

TEST(ExplanationTest, RejectsListsOfTheWrongLength) {
  v1::RotationEncoding rotation = ScaledRotation();
  rotation.add_ramp(1);
  EXPECT_THAT(FactsOf(rotation).frequencies, IsEmpty());
}

TEST(ExplanationTest, AsksForAnUnknownTrainedLength) {
  v1::RotationEncoding plain;
  plain.add_frequencies(1);
  plain.set_attention_factor(1);
  const RotationFacts facts = FactsOf(plain);
  const std::string text = Explained(facts);
  EXPECT_THAT(text, HasSubstr("No verdict: "));
  EXPECT_THAT(text, HasSubstr("--trained"));
  EXPECT_FALSE(
      RotationJson(facts, JudgeAngles(facts))["verdict"].contains("safe"));
  EXPECT_THAT(text, Not(HasSubstr("RAMP")));
  EXPECT_THAT(facts.unfinished, IsEmpty());
  EXPECT_EQ(facts.Stretch(0), 1);
}

TEST(ExplanationTest, CountsPairsThatDoNotRotateSeparately) {
  v1::RotationEncoding rotation;
  for (const double frequency : {1.0, 0.0}) {
    rotation.add_frequencies(frequency);
    rotation.add_unscaled_frequencies(1);
    rotation.add_original_turns(100 / kTurn);
    rotation.add_target_turns(100 * frequency / kTurn);
    rotation.add_ramp(0);
  }
  rotation.set_attention_factor(1);
  rotation.set_original_length(100);
  rotation.set_target_length(100);
  const std::string text = Explained(FactsOf(rotation));
  EXPECT_THAT(text, HasSubstr("not rotated\n"));
  EXPECT_THAT(text, HasSubstr("- 1 of 2 pairs (0) completes a turn"));
  EXPECT_THAT(text, HasSubstr("- 1 of 2 pairs (1) does not rotate"));
  EXPECT_THAT(text, HasSubstr("No length reaches new angles"));
  rotation.set_frequencies(0, 0);
  EXPECT_THAT(Explained(FactsOf(rotation)), HasSubstr("No pair rotates."));
}

TEST(ExplanationTest, ShowsTheDecayOfEachPair) {
  v1::RotationEncoding rotation;
  rotation.add_frequencies(1);
  rotation.add_decays(std::exp2(-1.0 / 64));
  rotation.set_attention_factor(1);
  EXPECT_THAT(Explained(FactsOf(rotation)),
              AllOf(HasSubstr("HALVES EVERY"), HasSubstr(" 64")));
  rotation.set_original_length(128);
  rotation.set_target_length(128);
  rotation.add_original_turns(128 / kTurn);
  rotation.add_target_turns(128 / kTurn);
  EXPECT_THAT(Explained(FactsOf(rotation)),
              HasSubstr("over 128 positions, the contribution of a pair "
                        "shrinks to\n  between 0.25 and 0.25"));
}

TEST(ExplanationTest, SinusoidalTablesHaveTurnsButNoScaling) {
  v1::AdditiveEncoding table;
  table.add_frequencies(kTurn / 10);
  table.add_frequencies(kTurn / 200);
  const RotationFacts facts = FactsOf(table, 100, 400);
  EXPECT_DOUBLE_EQ(facts.trained_turns[0], 10);
  EXPECT_DOUBLE_EQ(facts.target_turns[1], 2);
  EXPECT_THAT(facts.unfinished, ElementsAre(1));
  const std::string text = Explained(facts);
  EXPECT_THAT(text,
              HasSubstr("Verdict: not safe at 400 tokens. Safe up to 100"));
  EXPECT_THAT(text, HasSubstr("values that were never trained"));
  EXPECT_THAT(text, Not(HasSubstr("attention factor")));
  EXPECT_THAT(text, Not(HasSubstr("STRETCH")));
  EXPECT_EQ(RotationChart(facts, "").curves.size(), 1);
}

TEST(ExplanationTest, ShowsTheUntrainedRowsOfATable) {
  TableFacts facts{.table_length = 100, .policy = "WRAP"};
  EXPECT_THAT(ExplainTable(facts), HasSubstr("--trained"));
  facts.trained_length = 60;
  EXPECT_EQ(facts.UntrainedRows(), 40);
  EXPECT_EQ(facts.SafeLength(), 60);
  EXPECT_THAT(ExplainTable(facts), HasSubstr("The last 40 rows"));
  EXPECT_THAT(ExplainTable(facts), HasSubstr("Verdict: safe up to 60 tokens"));
  EXPECT_EQ(TableJson(facts)["verdict"]["safe_length"], 60);
  facts.trained_length = 100;
  EXPECT_THAT(ExplainTable(facts), HasSubstr("Training reaches every row"));
  facts.trained_length = 1000;
  EXPECT_EQ(facts.SafeLength(), 100);
}

TEST(ExplanationTest, SaysWhatEachPolicyDoesPastTheTable) {
  const auto last = [](const char* policy) {
    return TableVerdictSentences({.table_length = 100, .policy = policy})
        .back();
  };
  EXPECT_THAT(last("ERROR"), HasSubstr("longer than 100 tokens are rejected"));
  EXPECT_THAT(last("CLAMP"), HasSubstr("share the last row"));
  EXPECT_THAT(last("WRAP"), HasSubstr("100 apart look the same"));
  EXPECT_THAT(last("ZERO"), HasSubstr("no code"));
  EXPECT_THAT(last("RANDOM"), HasSubstr("never trained"));
  EXPECT_THAT(last("INTERPOLATE"), HasSubstr("stretch the table"));
  EXPECT_THAT(last("OTHER"), HasSubstr("the policy OTHER"));
}

// A bias of two heads for three keys, nearest last.
v1::BiasEncoding Bias() {
  v1::BiasEncoding bias;
  const std::vector<double> values = {-4, -2, 0, -8, -4, 0};
  bias.mutable_bias()->set_dtype(v1::DATA_TYPE_FLOAT64);
  for (const int64_t extent : {2, 1, 3}) bias.mutable_bias()->add_shape(extent);
  bias.mutable_bias()->set_data(values.data(), values.size() * sizeof(double));
  return bias;
}

TEST(ExplanationTest, ShowsSlopesAndBuckets) {
  v1::BiasEncoding bias = Bias();
  bias.add_slopes(0.5);
  EXPECT_THAT(*ExplainBias(bias), HasSubstr("1.386 positions"));
  bias.clear_slopes();
  bias.add_bucket_edges(1);
  bias.add_bucket_edges(8);
  EXPECT_THAT(*ExplainBias(bias), HasSubstr("distances 1, 8"));
}

TEST(ExplanationTest, ShowsTheBiasAtAFewDistances) {
  v1::BiasEncoding bias = Bias();
  EXPECT_THAT(*ExplainBias(bias), HasSubstr("head 1            0  -4  -8\n"));
  const auto json = *BiasJson(bias);
  EXPECT_EQ(json["distances"].dump(), "[0,1,2]");
  EXPECT_EQ(json["bias"][0].dump(), "[0.0,-2.0,-4.0]");
}

TEST(ExplanationTest, ShowsTheParametersOfEachHead) {
  v1::BiasEncoding bias = Bias();
  v1::HeadNumbers* p = bias.add_head_numbers();
  p->set_name("p");
  p->add_values(0.25);
  p->add_values(0.75);
  EXPECT_THAT(*ExplainBias(bias), HasSubstr("1     0.75\n"));
  EXPECT_EQ((*BiasJson(bias))["p"].dump(), "[0.25,0.75]");
}

TEST(ExplanationTest, BiasVerdictNamesTheHeadsAndTheLargestChange) {
  BiasVerdict verdict{.trained_length = 10, .target_length = 20};
  EXPECT_THAT(
      BiasVerdictSentences(verdict, "Distant keys fade."),
      ElementsAre("Verdict: past the trained length, distant keys fade.",
                  HasSubstr("--trained")));
  verdict.heads = {{-9, 0, -19, 0}, {-90, 0, -190, 0}, {-1, 1, -1, 1}};
  verdict.below = {0, 1};
  verdict.within = {2};
  const auto sentences = BiasVerdictSentences(verdict, "Distant keys fade.");
  ASSERT_EQ(sentences.size(), 3);
  EXPECT_THAT(sentences[1], HasSubstr("1 of 3 heads (2) stays within"));
  EXPECT_THAT(sentences[2], HasSubstr("2 of 3 heads (0 to 1) fall below"));
  EXPECT_THAT(sentences[2], HasSubstr("head 1 from -90 to -190"));
  const auto json = BiasVerdictJson(verdict, "Distant keys fade.");
  EXPECT_EQ(json["heads_below"].dump(), "[0,1]");
  EXPECT_EQ(json["beyond_training"], "Distant keys fade.");
}

}  // namespace
}  // namespace locus::client
