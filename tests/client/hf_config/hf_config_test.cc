#include "client/hf_config/hf_config.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/hf_config/hf_config_testing.h"

namespace locus::client {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HfConfigTest, PlainRopeIsHalfSplit) {
  const HfModel model = MustRead(R"({
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "max_position_embeddings": 4096,
    "rope_theta": 500000.0, "rope_scaling": null, "vocab_size": 32000})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT } ");
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_EQ(model.head_count, 32);
  EXPECT_THAT(model.notes, IsEmpty());
}

TEST(HfConfigTest, ReadsLlama31) {
  EXPECT_EQ(SchemeOf(R"({
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "max_position_embeddings": 131072, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
      "rope_type": "llama3"}})"),
            "rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT llama3 { "
            "factor: 8 low_freq_factor: 1 high_freq_factor: 4 "
            "original_length: 8192 } } ");
}

TEST(HfConfigTest, ReadsEveryFieldOfYarn) {
  EXPECT_EQ(SchemeOf(R"({
    "head_dim": 64, "max_position_embeddings": 163840, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32,
      "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0,
      "original_max_position_embeddings": 4096, "truncate": false}})"),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT yarn { factor: "
            "40 original_length: 4096 beta_fast: 32 beta_slow: 1 truncate: "
            "false mscale: 1 mscale_all_dim: 1 } } ");
}

TEST(HfConfigTest, ReadsBaseFromRopeParameters) {
  EXPECT_EQ(SchemeOf(R"({
    "head_dim": 128, "max_position_embeddings": 32768,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0,
      "factor": 4.0, "original_max_position_embeddings": 32768}})"),
            "rope { base: 1000000 layout: ROPE_LAYOUT_HALF_SPLIT yarn { "
            "factor: 4 original_length: 32768 } } ");
}

TEST(HfConfigTest, PrefersBlockOfFullAttentionLayers) {
  const HfModel model = MustRead(R"({
    "head_dim": 256, "rope_parameters": {
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
      "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
        "partial_rotary_factor": 0.25}}})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 1000000 layout: ROPE_LAYOUT_HALF_SPLIT proportional "
            "{ share: 0.25 } } ");
  EXPECT_THAT(model.notes, Contains(HasSubstr("using full_attention")));
}

TEST(HfConfigTest, ReadsLinearAndDynamicScaling) {
  EXPECT_THAT(SchemeOf(R"({"rope_scaling": {"type": "linear", "factor": 2}})"),
              HasSubstr("linear { factor: 2 }"));
  EXPECT_THAT(SchemeOf(R"({"max_position_embeddings": 4096,
                           "rope_scaling": {"type": "dynamic", "factor": 2}})"),
              HasSubstr("dynamic_ntk { factor: 2 max_position: 4096 }"));
}

TEST(HfConfigTest, LongRopeUsesRatioOfLengths) {
  EXPECT_EQ(SchemeOf(R"({
    "hidden_size": 8, "num_attention_heads": 2,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "su", "short_factor": [1.0, 1.5],
      "long_factor": [2.0, 64.0]}})"),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT longrope { "
            "factor: 32 original_length: 4096 short_factors: 1 short_factors: "
            "1.5 long_factors: 2 long_factors: 64 } } ");
}

TEST(HfConfigTest, ReadsPartialRotaryFactorAndRotaryDim) {
  EXPECT_THAT(SchemeOf(R"({"model_type": "gpt_neox", "hidden_size": 512,
      "num_attention_heads": 8, "rotary_pct": 0.25,
      "rotary_emb_base": 10000})"),
              HasSubstr("rotary_dim: 16"));
  EXPECT_EQ(SchemeOf(R"({"model_type": "gptj", "n_embd": 4096, "n_head": 16,
      "rotary_dim": 64})"),
            "rope { base: 10000 layout: ROPE_LAYOUT_INTERLEAVED rotary_dim: 64 "
            "} ");
}

TEST(HfConfigTest, ReadsEverySpellingOfAlibi) {
  EXPECT_EQ(SchemeOf(R"({"model_type": "bloom", "n_head": 16})"), "alibi { } ");
  EXPECT_EQ(SchemeOf(R"({"model_type": "falcon", "alibi": true})"),
            "alibi { } ");
  EXPECT_EQ(SchemeOf(R"({"model_type": "mpt", "attn_config":
                         {"alibi": true, "alibi_bias_max": 16}})"),
            "alibi { bias_max: 16 } ");
  EXPECT_EQ(SchemeOf(R"({"position_embedding_type": "alibi"})"), "alibi { } ");
  EXPECT_THAT(SchemeOf(R"({"model_type": "falcon", "alibi": false})"),
              HasSubstr("rope"));
}

TEST(HfConfigTest, ReadsT5BiasAndLearnedTables) {
  EXPECT_EQ(SchemeOf(R"({"model_type": "t5", "d_model": 512, "num_heads": 8,
      "relative_attention_num_buckets": 32,
      "relative_attention_max_distance": 128})"),
            "t5_bias { bucket_count: 32 max_distance: 128 } ");
  EXPECT_EQ(SchemeOf(R"({"model_type": "gpt2", "n_positions": 1024})"),
            "learned { max_length: 1024 } ");
}

TEST(HfConfigTest, ReportsUnknownPositionFields) {
  const HfModel model = MustRead(R"({
    "rope_scaling": {"type": "linear", "factor": 2, "wobble": 3},
    "rope_swirl": true, "no_rope_layers": [0, 1], "tie_weights": true})");
  EXPECT_THAT(model.notes, Contains("not understood: rope_scaling.wobble"));
  EXPECT_THAT(model.notes, Contains("not understood: rope_swirl"));
  EXPECT_THAT(model.notes, Contains("not understood: no_rope_layers"));
  EXPECT_EQ(model.notes.size(), 3);
}

TEST(HfConfigTest, RejectsInvalidConfigurations) {
  for (const char* const text :
       {"", "[1]", "{\"rope_scaling\": 3}",
        "{\"rope_scaling\": {\"type\": \"spiral\", \"factor\": 2}}",
        "{\"rope_scaling\": {\"type\": \"linear\"}}",
        "{\"rope_theta\": \"much\"}",
        "{\"position_embedding_type\": \"relative_key\"}",
        "{\"partial_rotary_factor\": 0.5}",
        "{\"head_dim\": 64, \"partial_rotary_factor\": 1e300}",
        "{\"head_dim\": 64, \"partial_rotary_factor\": -0.5}",
        "{\"head_dim\": 64, \"rotary_dim\": -2}",
        "{\"rope_theta\": 1e300, \"rope_ratio\": 1e300}",
        "{\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 2}}",
        "{\"rope_scaling\": {\"type\": 7, \"factor\": 2}}",
        "{\"rope_scaling\": {\"factor\": 2}}", "{}", "{\"alibi\": false}",
        "{\"model_type\": \"mamba\", \"hidden_size\": 64}",
        "{\"model_type\": \"mpt\", \"attn_config\": {\"alibi\": false}, "
        "\"learned_pos_emb\": false}"}) {
    EXPECT_EQ(ReadHfConfig(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(HfConfigTest, WrittenFieldsReadBackAsTheSameScheme) {
  for (const char* const text :
       {"rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT rotary_dim: 32 "
        "linear { factor: 2 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT ntk { factor: 2 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT dynamic_ntk { factor: "
        "2 max_position: 4096 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT yarn { factor: 4 "
        "original_length: 2048 beta_fast: 16 beta_slow: 2 truncate: false "
        "attention_factor: 1.5 mscale: 0.5 mscale_all_dim: 0.25 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT llama3 { factor: 8 "
        "low_freq_factor: 2 high_freq_factor: 3 original_length: 100 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT longrope { factor: 8 "
        "original_length: 100 short_factors: 1 long_factors: 2 "
        "attention_factor: 1.25 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT proportional { share: "
        "0.5 factor: 2 } }",
        "rope { base: 1e4 layout: ROPE_LAYOUT_HALF_SPLIT proportional { share: "
        "0 factor: 1 } }",
        "alibi { }", "alibi { bias_max: 16 }",
        "t5_bias { bucket_count: 16 max_distance: 99 }",
        "learned { max_length: 77 }"}) {
    v1::Scheme scheme;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &scheme));
    auto fields = WriteHfConfig(scheme, 64);
    ASSERT_TRUE(fields.ok()) << fields.status();
    (*fields)["head_dim"] = 64;
    EXPECT_EQ(TextOf(MustRead(fields->dump()).scheme), TextOf(scheme));
  }
}

TEST(HfConfigTest, RejectsConfigurationsWithoutPositions) {
  EXPECT_THAT(std::string(ReadHfConfig("{}").status().message()),
              HasSubstr("says nothing about positions"));
  EXPECT_THAT(
      std::string(
          ReadHfConfig(R"({"model_type": "mamba"})").status().message()),
      HasSubstr("\"mamba\" has no known default"));
  // The transformers library does not write fields with default values.
  EXPECT_EQ(SchemeOf(R"({"model_type": "llama", "hidden_size": 64})"),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT } ");
  EXPECT_EQ(SchemeOf(R"({"model_type": "mpt", "d_model": 64})"), "alibi { } ");
  EXPECT_EQ(SchemeOf(R"({"model_type": "mpt", "max_seq_len": 2048,
                         "attn_config": {"alibi": false}})"),
            "learned { max_length: 2048 } ");
}

TEST(HfConfigTest, UsesDefaultPartialRotaryFactorOfModelType) {
  for (const auto& [type, rotary_dim] :
       {std::pair("gpt_neox", "rotary_dim: 16"),
        std::pair("stablelm", "rotary_dim: 16"),
        std::pair("phi", "rotary_dim: 32"),
        std::pair("glm4", "rotary_dim: 32")}) {
    const HfModel model = MustRead(absl::StrCat(
        R"({"hidden_size": 512, "num_attention_heads": 8, "model_type": ")",
        type, R"("})"));
    EXPECT_THAT(TextOf(model.scheme), HasSubstr(rotary_dim));
    EXPECT_THAT(model.notes, Contains(HasSubstr("the default of")));
  }
  EXPECT_EQ(SchemeOf(R"({"model_type": "phi", "head_dim": 64,
                         "partial_rotary_factor": 1.0})"),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT } ");
}

TEST(HfConfigTest, FullAttentionLayersMayHaveLargerHeads) {
  const char* const text = R"({
    "model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 512,
    "sliding_window": 512, "max_position_embeddings": 131072,
    "layer_types": ["sliding_attention", "sliding_attention",
      "full_attention", "sliding_attention", "sliding_attention",
      "full_attention"],
    "rope_parameters": {
      "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
      "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
        "partial_rotary_factor": 0.25}}})";
  const HfModel model = MustRead(text);
  EXPECT_EQ(model.head_dim, 512);
  EXPECT_EQ(model.trained_length, 131072);
  ASSERT_TRUE(model.layered.has_value());
  EXPECT_EQ(TextOf(*model.layered),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT } layers { "
            "period: 3 others { scheme { rope { base: 1000000 layout: "
            "ROPE_LAYOUT_HALF_SPLIT proportional { share: 0.25 } } } } window: "
            "512 } ");
}

TEST(HfConfigTest, ReadsPatternOfNopeLayers) {
  for (const char* const fields :
       {R"("no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0])",
        R"("no_rope_layer_interval": 4)",
        R"("no_rope_layers": [], "no_rope_layer_interval": 4)"}) {
    const HfModel model = MustRead(absl::StrCat(
        R"({"model_type": "smollm3", "rope_theta": 5e6, )", fields, "}"));
    ASSERT_TRUE(model.layered.has_value()) << fields;
    EXPECT_THAT(TextOf(*model.layered), HasSubstr("layers { period: 4 }"));
    EXPECT_FALSE(model.scheme.has_layers());
    EXPECT_THAT(model.notes, IsEmpty());
  }
}

TEST(HfConfigTest, RopeScalingOverridesRopeParameters) {
  const HfModel model = MustRead(R"({
    "rope_parameters": {"rope_type": "linear", "factor": 2, "rope_theta": 5e5},
    "rope_scaling": {"rope_type": "linear", "factor": 8}})");
  EXPECT_THAT(TextOf(model.scheme), HasSubstr("linear { factor: 8 }"));
  EXPECT_THAT(TextOf(model.scheme), HasSubstr("base: 500000"));
  EXPECT_THAT(model.notes, Contains(HasSubstr("using rope_scaling")));
}

TEST(HfConfigTest, IgnoresEmptyBlocks) {
  EXPECT_THAT(SchemeOf(R"({"rope_scaling": {}, "rope_parameters":
                           {"rope_type": "linear", "factor": 2}})"),
              HasSubstr("linear { factor: 2 }"));
}

TEST(HfConfigTest, ReportsThatMropeSectionsAreNotApplied) {
  const HfModel model = MustRead(R"({"model_type": "qwen2_vl",
    "rope_theta": 10000,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT } ");
  ASSERT_EQ(model.notes.size(), 1);
  EXPECT_THAT(model.notes[0], HasSubstr("mrope_section is not applied"));
}

TEST(HfConfigTest, ReadsTrainedAndTargetLength) {
  const auto lengths = [](const std::string& text) {
    const HfModel model = MustRead(text);
    return std::pair(model.trained_length, model.target_length);
  };
  EXPECT_EQ(lengths(R"({"model_type": "llama",
                        "max_position_embeddings": 4096})"),
            std::pair(int64_t{4096}, int64_t{0}));
  EXPECT_EQ(lengths(R"({"max_position_embeddings": 131072,
                        "rope_scaling": {"rope_type": "llama3", "factor": 8,
                          "original_max_position_embeddings": 8192}})"),
            std::pair(int64_t{8192}, int64_t{131072}));
  EXPECT_EQ(lengths(R"({"max_position_embeddings": 4096,
                        "rope_scaling": {"type": "linear", "factor": 4}})"),
            std::pair(int64_t{4096}, int64_t{0}));
}

TEST(HfConfigTest, ReportsUnwrittenParameters) {
  const auto notes = [](const char* text) {
    v1::Scheme scheme;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &scheme));
    return UnwrittenOf(scheme);
  };
  EXPECT_THAT(notes("rope { }"), Contains(HasSubstr("layout")));
  EXPECT_THAT(notes("rope { layout: ROPE_LAYOUT_HALF_SPLIT }"), IsEmpty());
  EXPECT_THAT(notes("rope { proportional { } }"), IsEmpty());
  EXPECT_THAT(
      notes("rope { layout: ROPE_LAYOUT_INTERLEAVED proportional { } }"),
      Contains(HasSubstr("layout")));
  EXPECT_THAT(notes("rope { layout: ROPE_LAYOUT_HALF_SPLIT ntk { } }"),
              Contains(HasSubstr("no released library")));
  EXPECT_THAT(notes("rope { layout: ROPE_LAYOUT_HALF_SPLIT longrope { } }"),
              Contains(HasSubstr("libraries require both")));
  EXPECT_THAT(notes("t5_bias { }"), Contains(HasSubstr("bidirectional")));
  EXPECT_THAT(notes("alibi { symmetric: true }"),
              Contains(HasSubstr("symmetric")));
}

TEST(HfConfigTest, RejectsSchemesWithoutConfiguration) {
  v1::Scheme scheme;
  scheme.mutable_fire();
  EXPECT_FALSE(WriteHfConfig(scheme, 64).ok());
  scheme.mutable_rope()->set_rotary_dim(32);
  EXPECT_FALSE(WriteHfConfig(scheme, 0).ok());
}

}  // namespace
}  // namespace locus::client
