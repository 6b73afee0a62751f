#include "client/cli/requests/scheme_sizes.h"

#include "client/cli/requests/scheme_flags.h"
#include "client/cli/requests/scheme_names.h"
#include "client/cli/requests/scheme_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;

HfModel ModelOf(const std::string& text) {
  HfModel model;
  model.scheme = *ParseScheme(text);
  return model;
}

HfModel ConfiguredModel(const std::string& text) {
  HfModel model = ModelOf(text);
  model.head_dim = 128;
  model.head_count = 32;
  model.embedding_dim = 5120;
  model.file_name = "config.json";
  return model;
}

TEST(SchemeSizesTest, DefaultsDependOnWhereTheSchemeActs) {
  for (const char* text : {"rope", "sinusoidal", "learned", "xpos"}) {
    const CallSizes sizes = SizesForEncoding(ModelOf(text), {}, {});
    EXPECT_EQ(sizes.dim, kDefaultDim) << text;
    EXPECT_EQ(sizes.head_count, 0) << text;
    EXPECT_EQ(sizes.note, "") << text;
  }
  const CallSizes sizes = SizesForEncoding(ModelOf("alibi"), {}, {});
  EXPECT_EQ(sizes.dim, 0);
  EXPECT_EQ(sizes.head_count, kDefaultBiasHeads);
}

TEST(SchemeSizesTest, ParametersOfTheSchemeDetermineItsSizes) {
  EXPECT_EQ(
      SizesForEncoding(ModelOf("alibi:slopes=[1,0.5]"), {}, {}).head_count, 0);
  HfModel model = ConfiguredModel("alibi:slopes=[1,0.5]");
  EXPECT_EQ(SizesForEncoding(model, {}, {}).note, "");
  EXPECT_EQ(SizesForEncoding(model, {}, {}).head_count, 0);
}

TEST(SchemeSizesTest, ConfigurationDeterminesTheSizes) {
  CallSizes sizes = SizesForEncoding(ConfiguredModel("rope"), {}, {});
  EXPECT_EQ(sizes.dim, 128);
  EXPECT_EQ(sizes.note, "(dim 128 from config.json)");
  sizes = SizesForEncoding(ConfiguredModel("learned"), {}, {});
  EXPECT_EQ(sizes.dim, 5120);
  sizes = SizesForEncoding(ConfiguredModel("alibi"), {}, {});
  EXPECT_EQ(sizes.head_count, 32);
  EXPECT_EQ(sizes.note, "(32 heads from config.json)");
}

TEST(SchemeSizesTest, FlagsWin) {
  const CallSizes sizes = SizesForEncoding(ConfiguredModel("rope"), 16, {});
  EXPECT_EQ(sizes.dim, 16);
  EXPECT_EQ(sizes.note, "");
  EXPECT_EQ(SizesForEncoding(ConfiguredModel("alibi"), {}, 3).head_count, 3);
}

TEST(SchemeSizesTest, LayerHasTheHeadsOfTheConfiguration) {
  CallSizes sizes = SizesForLayer(ConfiguredModel("rope"), {});
  EXPECT_EQ(sizes.dim, 4096);
  EXPECT_EQ(sizes.head_count, 32);
  EXPECT_EQ(sizes.note, "(dim 128, 32 heads from config.json)");
  sizes = SizesForLayer(ConfiguredModel("rope"), 2);
  EXPECT_EQ(sizes.dim, 256);
  EXPECT_EQ(sizes.head_count, 2);
  EXPECT_EQ(SizesForLayer(ModelOf("rope"), 2).dim, 0);
}

TEST(SchemeSizesTest, OneSidedBiasesHaveAParameterForBothSides) {
  std::vector<std::string> found;
  for (const std::string& name : SchemeNames()) {
    const auto* parameter = TwoSidedParameter(*ParseScheme(name));
    if (parameter != nullptr) found.push_back(name + "." + parameter->name());
  }
  EXPECT_THAT(found, ElementsAre("alibi.symmetric", "t5_bias.bidirectional",
                                 "kerple.symmetric"));
}

TEST(SchemeSizesTest, GivenDirectionWins) {
  ParsedScheme parsed = *ParseSchemeText("alibi:symmetric=false");
  MakeTwoSided(parsed.given, &parsed.scheme);
  EXPECT_FALSE(parsed.scheme.alibi().symmetric());
  parsed = *ParseSchemeText("alibi:bias_max=4");
  MakeTwoSided(parsed.given, &parsed.scheme);
  EXPECT_TRUE(parsed.scheme.alibi().symmetric());
  parsed = *ParseSchemeText("rope");
  MakeTwoSided(parsed.given, &parsed.scheme);
  EXPECT_EQ(parsed.scheme.ShortDebugString(), "rope { }");
}

TEST(SchemeSizesTest, ReadModelMakesBiasesTwoSidedOnRequest) {
  EXPECT_FALSE(ReadModel({.scheme = "alibi"})->scheme.alibi().symmetric());
  EXPECT_TRUE(ReadModel({.scheme = "alibi"}, DirectionFor(/*causal=*/false))
                  ->scheme.alibi()
                  .symmetric());
  EXPECT_FALSE(ReadModel({.scheme = "alibi"}, DirectionFor(/*causal=*/true))
                   ->scheme.alibi()
                   .symmetric());
}

}  // namespace
}  // namespace locus::client
