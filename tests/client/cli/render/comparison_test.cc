#include "client/cli/render/comparison.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/render/comparison_names.h"
#include "client/cli/render/number_text.h"
#include "client/cli/requests/scheme_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// One head and two words.
AttentionWeights Weights(std::vector<double> values) {
  return {.head_count = 1, .length = 2, .values = std::move(values)};
}

TEST(ComparisonTest, FindsTheLargestDifferenceAndItsPlace) {
  const AttentionDifference found = CompareAttention(
      Weights({0.5, 0.5, 0.9, 0.1}), Weights({0.4, 0.6, 0.6, 0.4}));
  EXPECT_DOUBLE_EQ(found.largest, 0.3);
  EXPECT_DOUBLE_EQ(found.mean, (0.1 + 0.1 + 0.3 + 0.3) / 4);
  EXPECT_EQ(found.query, 1);
  EXPECT_EQ(found.key, 0);
  EXPECT_DOUBLE_EQ(found.first, 0.9);
  EXPECT_DOUBLE_EQ(found.other, 0.6);
}

TEST(ComparisonTest, CountsHeadsSeparately) {
  const AttentionWeights first{2, 1, {1, 0.5}};
  const AttentionWeights other{2, 1, {1, 0.75}};
  EXPECT_EQ(CompareAttention(first, other).head, 1);
}

TEST(ComparisonTest, AveragesWeightsByDistance) {
  const AttentionWeights weights = Weights({0.8, 0.2, 0.3, 0.7});
  EXPECT_THAT(WeightByDistance(weights, /*causal=*/false),
              ElementsAre(DoubleEq(0.75), DoubleEq(0.25)));
  // A causal map has no weight for the second word from the first one.
  EXPECT_THAT(WeightByDistance(weights, /*causal=*/true),
              ElementsAre(DoubleEq(0.75), DoubleEq(0.3)));
}

TEST(ComparisonTest, SpacedIndicesHoldBothEnds) {
  EXPECT_THAT(SpacedIndices(0, 4), IsEmpty());
  EXPECT_THAT(SpacedIndices(1, 4), ElementsAre(0));
  EXPECT_THAT(SpacedIndices(4, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SpacedIndices(64, 4), ElementsAre(0, 21, 42, 63));
}

// A scheme whose pairs have the given wavelengths.
ComparedScheme Rotation(const std::string& name,
                        const std::vector<double>& wavelengths) {
  v1::RotationEncoding rotation;
  rotation.set_attention_factor(1.5);
  rotation.set_original_length(100);
  rotation.set_target_length(400);
  for (const double wavelength : wavelengths) {
    rotation.add_frequencies(2 * std::numbers::pi / wavelength);
    rotation.add_original_turns(100 / wavelength);
    rotation.add_target_turns(400 / wavelength);
  }
  ComparedScheme scheme{.name = name, .kind = "rope"};
  scheme.dim = 2 * static_cast<int64_t>(wavelengths.size());
  scheme.pairs = FactsOf(rotation);
  scheme.angles = JudgeAngles(*scheme.pairs);
  scheme.attention = Weights({0.5, 0.5, 0.9, 0.1});
  return scheme;
}

ComparedScheme Bias(const std::string& name, double slope) {
  ComparedScheme scheme{.name = name, .kind = "alibi"};
  BiasByDistance bias;
  for (const double factor : {1.0, 0.5, 0.25}) {
    bias.heads.push_back({0, -factor * slope, -2 * factor * slope});
  }
  scheme.bias = bias;
  scheme.attention = Weights({0.25, 0.75, 0.9, 0.1});
  return scheme;
}

Comparison Compared(std::vector<ComparedScheme> schemes) {
  Comparison comparison;
  comparison.schemes = std::move(schemes);
  comparison.target_length = 400;
  comparison.words = {"good", "day"};
  return comparison;
}

size_t MaxWidth(const std::string& text) {
  size_t width = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    width = std::max(width, CharacterCount(line));
  }
  return width;
}

TEST(ComparisonTest, PutsWavelengthsSideBySideWithRatios) {
  const std::string text = ComparisonText(
      Compared({Rotation("rope", {10, 200}), Rotation("slow", {10, 800})}), {});
  EXPECT_THAT(text, HasSubstr("PAIR  rope  slow  RATIO\n"
                              "0     10    10    1\n"
                              "1     200   800   4\n"));
  EXPECT_THAT(text, HasSubstr("0.5   2       new, 4\xc3\x97"));
  EXPECT_THAT(text, HasSubstr("\xc3\x97"
                              "2.25"));
}

TEST(ComparisonTest, RatiosNeedTheSameNumberOfPairs) {
  const ComparedScheme two = Rotation("two", {10, 200});
  const ComparedScheme one = Rotation("one", {10});
  EXPECT_THAT(WavelengthRatios(*two.pairs, *one.pairs), IsEmpty());
  const std::string text = ComparisonText(Compared({two, one}), {});
  EXPECT_THAT(text, Not(HasSubstr("RATIO")));
}

TEST(ComparisonTest, PairsThatDoNotRotateHaveNoRatio) {
  RotationFacts fixed = *Rotation("fixed", {10, 200}).pairs;
  fixed.frequencies[1] = 0;
  const auto ratios = WavelengthRatios(*Rotation("a", {5, 100}).pairs, fixed);
  EXPECT_DOUBLE_EQ(ratios[0], 2);
  EXPECT_TRUE(std::isnan(ratios[1]));
}

TEST(ComparisonTest, LongTablesAreFoldedUnlessAllIsSet) {
  std::vector<double> wavelengths;
  for (int k = 0; k < 64; ++k) wavelengths.push_back(10 + k);
  const Comparison comparison =
      Compared({Rotation("a", wavelengths), Rotation("b", wavelengths)});
  EXPECT_THAT(ComparisonText(comparison, {}),
              HasSubstr("12 of 64 pairs; --all shows all"));
  const std::string all = ComparisonText(comparison, {.all = true});
  EXPECT_THAT(all, Not(HasSubstr("--all")));
  EXPECT_THAT(all, HasSubstr("\n37    47"));
}

TEST(ComparisonTest, LongNamesBecomeLettersSoThatTablesFit) {
  std::vector<ComparedScheme> schemes;
  for (int i = 0; i < 8; ++i) {
    schemes.push_back(Rotation(absl::StrCat("rope with a rather long name ", i),
                               {1234.5, 2e9}));
  }
  const std::string text = ComparisonText(Compared(schemes), {});
  EXPECT_THAT(text, HasSubstr("H rope with a rather long name 7\n"));
  EXPECT_LE(MaxWidth(text), 80);
}

TEST(ComparisonTest, PutsBiasesSideBySideWithDifferences) {
  const Comparison comparison = Compared({Bias("a", 1), Bias("b", 4)});
  const std::string text = ComparisonText(comparison, {});
  EXPECT_THAT(text, HasSubstr("Bias of head 0"));
  EXPECT_THAT(text, HasSubstr("1         -1  -4  -3\n"));
  EXPECT_THAT(text, HasSubstr("Bias of head 2"));
  EXPECT_THAT(text, Not(HasSubstr("Bias of head 1")));
  EXPECT_THAT(ComparisonText(comparison, {.all = true}),
              HasSubstr("Bias of head 1"));
}

TEST(ComparisonTest, MixedKindsAreComparedByTheirAttention) {
  const std::string text =
      ComparisonText(Compared({Rotation("rope", {10}), Bias("alibi", 1)}), {});
  EXPECT_THAT(text, HasSubstr("act at different sites"));
  EXPECT_THAT(text, Not(HasSubstr("Wavelength")));
  EXPECT_THAT(text, HasSubstr("- alibi: 0.25, where \"good\" (word 1) attends "
                              "to \"good\" (word 1) with 0.25"));
}

TEST(ComparisonTest, SaysWhyAttentionIsNotCompared) {
  Comparison comparison = Compared({Rotation("rope", {10}), Bias("alibi", 1)});
  comparison.attention_note = "the widths differ.";
  EXPECT_THAT(ComparisonText(comparison, {}),
              HasSubstr("Attention is not compared: the widths differ."));
  EXPECT_EQ(ComparisonJson(comparison)["attention"]["note"],
            "the widths differ.");
  EXPECT_FALSE(ComparisonChart(comparison).ok());
}

TEST(ComparisonTest, JsonHasNumbersOfEverySection) {
  const auto json = ComparisonJson(
      Compared({Rotation("rope", {10, 200}), Rotation("slow", {10, 800})}));
  EXPECT_EQ(json["schemes"][1]["name"], "slow");
  EXPECT_DOUBLE_EQ(json["schemes"][1]["wavelength_ratios"][1], 4);
  EXPECT_EQ(json["schemes"][0]["rotation"]["verdict"]["safe"], false);
  EXPECT_THAT(json["attention"]["differences"], SizeIs(1));
  EXPECT_EQ(json["attention"]["differences"][0]["largest"], 0);
}

TEST(ComparisonTest, DrawsWhatAllSchemesHave) {
  const auto label = [](std::vector<ComparedScheme> schemes) {
    const auto chart = ComparisonChart(Compared(std::move(schemes)));
    EXPECT_THAT(chart->curves, SizeIs(2));
    return chart->y_label;
  };
  EXPECT_EQ(label({Rotation("a", {10}), Rotation("b", {20})}),
            "positions for a turn");
  EXPECT_EQ(label({Bias("a", 1), Bias("b", 2)}), "bias");
  EXPECT_EQ(label({Rotation("a", {10}), Bias("b", 2)}), "mean weight");
}

std::vector<std::string> NamesOf(const std::vector<std::string>& texts) {
  v1::ListSchemesResponse described;
  v1::SchemeDescription* rope = described.add_schemes();
  rope->set_name("rope");
  v1::SchemeParameter* base = rope->add_parameters();
  base->set_name("base");
  base->set_default_value("10000");
  std::vector<v1::Scheme> schemes;
  for (const std::string& text : texts) {
    schemes.push_back(ParseScheme(text).value());
  }
  std::vector<NamedSource> sources;
  for (const v1::Scheme& scheme : schemes) sources.push_back({&scheme});
  return ComparisonNames(sources, described);
}

TEST(ComparisonNamesTest, NameWhatDiffers) {
  EXPECT_THAT(NamesOf({"rope", "alibi"}), ElementsAre("rope", "alibi"));
  EXPECT_THAT(NamesOf({"rope { layout: HALF_SPLIT }", "alibi"}),
              ElementsAre("rope", "alibi"));
  EXPECT_THAT(NamesOf({"rope", "rope { base: 500000 }"}),
              ElementsAre("rope base=10000", "rope base=500000"));
  EXPECT_THAT(NamesOf({"rope", "rope { yarn { factor: 4 } }"}),
              ElementsAre("rope",
                          "rope yarn\xc3\x97"
                          "4"));
  EXPECT_THAT(NamesOf({"rope { yarn { factor: 4 original_length: 512 } }",
                       "rope { yarn { factor: 4 original_length: 4096 } }",
                       "rope { layout: HALF_SPLIT linear {} }"}),
              ElementsAre("rope yarn\xc3\x97"
                          "4 original_length=512",
                          "rope yarn\xc3\x97"
                          "4 original_length=4096",
                          "rope layout=HALF_SPLIT linear"));
}

TEST(ComparisonNamesTest, NumberEqualNamesAndPreferFiles) {
  EXPECT_THAT(NamesOf({"rope", "rope"}), ElementsAre("rope (1)", "rope (2)"));
  const v1::Scheme scheme = ParseScheme("rope").value();
  EXPECT_THAT(ComparisonNames({{&scheme, "llama31.json"}, {&scheme}}, {}),
              ElementsAre("llama31", "rope"));
}

}  // namespace
}  // namespace locus::client
