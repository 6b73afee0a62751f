// Tests with configurations of published models and the defaults of their code.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/hf_config/hf_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/hf_config/hf_config_testing.h"

namespace locus::client {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string LayeredOf(const std::string& text) {
  const HfModel model = MustRead(text);
  return model.layered ? TextOf(*model.layered) : "none";
}

constexpr char kSlidingThenFull[] =
    R"("layer_types": ["sliding_attention", "full_attention",
                       "sliding_attention", "full_attention"],
       "sliding_window": 512)";

TEST(HfModelsTest, Gemma3UsesDefaultsOfModelType) {
  const HfModel model = MustRead(R"({"text_config": {"hidden_size": 2560,
    "model_type": "gemma3_text", "num_hidden_layers": 34,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "sliding_window": 1024}})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 1000000 layout: ROPE_LAYOUT_HALF_SPLIT linear { "
            "factor: 8 } } ");
  EXPECT_EQ(model.head_dim, 256);
  EXPECT_EQ(model.head_count, 8);
  EXPECT_THAT(model.notes,
              Contains("rope_theta is left out; using 1e+06, the default of "
                       "gemma3_text"));
  ASSERT_TRUE(model.layered.has_value());
  EXPECT_EQ(
      TextOf(*model.layered),
      "rope { base: 10000 layout: ROPE_LAYOUT_HALF_SPLIT } layers { "
      "period: 6 others { scheme { rope { base: 1000000 layout: "
      "ROPE_LAYOUT_HALF_SPLIT linear { factor: 8 } } } } window: 1024 } ");
}

TEST(HfModelsTest, UsesDefaultBaseOfModelType) {
  for (const auto& [type, base] :
       {std::pair("mixtral", "1000000"), std::pair("llama4_text", "500000"),
        std::pair("persimmon", "25000"), std::pair("gpt_oss", "150000"),
        std::pair("smollm3", "2000000"), std::pair("helium", "100000"),
        std::pair("ernie4_5", "500000"), std::pair("qwen2_vl", "1000000"),
        std::pair("olmo3", "500000"), std::pair("modernbert", "160000")}) {
    const HfModel model = MustRead(
        absl::StrCat(R"({"head_dim": 64, "model_type": ")", type, R"("})"));
    EXPECT_THAT(TextOf(model.scheme), HasSubstr(absl::StrCat("base: ", base)))
        << type;
    EXPECT_THAT(model.notes, Contains(HasSubstr("rope_theta is left out")));
  }
}

TEST(HfModelsTest, ReportsAssumedBase) {
  const char* const text = R"({"model_type": "novel", "rotary_dim": 64)";
  EXPECT_THAT(MustRead(absl::StrCat(text, "}")).notes,
              Contains(HasSubstr("assumed 10000")));
  EXPECT_THAT(MustRead(absl::StrCat(text, R"(, "rope_theta": 5})")).notes,
              IsEmpty());
}

TEST(HfModelsTest, ReadsPositionEmbeddingType) {
  EXPECT_EQ(SchemeOf(R"({"model_type": "novel", "rope_theta": 50000,
                         "position_embedding_type": "rope_gptj"})"),
            "rope { base: 50000 layout: ROPE_LAYOUT_INTERLEAVED } ");
  const HfModel none = MustRead(R"({"model_type": "granitemoehybrid",
    "position_embedding_type": "nope", "rope_theta": 10000})");
  EXPECT_EQ(TextOf(none.scheme), "none { } ");
  EXPECT_THAT(none.notes, IsEmpty());
  EXPECT_EQ(SchemeOf(R"({"model_type": "bert",
                         "position_embedding_type": "absolute",
                         "max_position_embeddings": 512})"),
            "learned { max_length: 512 } ");
}

TEST(HfModelsTest, ModernBertUsesRopeDespiteAbsoluteType) {
  const char* const rope =
      "rope { base: 160000 layout: ROPE_LAYOUT_HALF_SPLIT } ";
  EXPECT_EQ(SchemeOf(R"({"model_type": "modernbert",
    "position_embedding_type": "absolute", "rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 160000.0},
      "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})"),
            rope);
  const HfModel older = MustRead(R"({"model_type": "modernbert",
    "position_embedding_type": "absolute", "global_rope_theta": 160000.0,
    "local_rope_theta": 20000.0})");
  EXPECT_EQ(TextOf(older.scheme), rope);
  EXPECT_THAT(older.notes,
              Contains(HasSubstr("sliding-window layers have base 20000")));
  EXPECT_THAT(older.notes, Not(Contains(HasSubstr("not understood: "))));
}

TEST(HfModelsTest, FullAttentionLayersUseNopeInSomeModels) {
  for (const char* const type : {"cohere2", "exaone4"}) {
    const HfModel model =
        MustRead(absl::StrCat(R"({"rope_theta": 50000, "model_type": ")", type,
                              R"(", )", kSlidingThenFull, "}"));
    ASSERT_TRUE(model.layered.has_value()) << type;
    EXPECT_THAT(TextOf(*model.layered),
                HasSubstr("layers { period: 2 others { scheme { none { } } } "
                          "window: 512 }"));
    EXPECT_TRUE(model.layered->has_rope());
    EXPECT_TRUE(model.scheme.has_rope());
    EXPECT_THAT(model.notes, Contains(HasSubstr("have no positions")));
  }
  // Without a sliding window, all layers of exaone4 use RoPE.
  EXPECT_EQ(LayeredOf(R"({"model_type": "exaone4", "sliding_window": null,
                          "rope_theta": 1e6})"),
            "none");
}

TEST(HfModelsTest, ReadsSlidingWindowPattern) {
  for (const auto& [type, pattern] :
       {std::pair("cohere2", "4"), std::pair("exaone4", R"("LLLG")"),
        std::pair("cohere2", "null")}) {
    EXPECT_THAT(
        LayeredOf(absl::StrCat(R"({"rope_theta": 50000, "sliding_window": 9,
                                   "model_type": ")",
                               type, R"(", "sliding_window_pattern": )",
                               pattern, "}")),
        HasSubstr("layers { period: 4 others { scheme { none { } } } window: 9 "
                  "}"));
  }
  EXPECT_EQ(LayeredOf(R"({"model_type": "exaone4", "rope_theta": 1,
                          "sliding_window_pattern": "LGGL"})"),
            "none");
}

TEST(HfModelsTest, ScalesOnlyFullAttentionLayersInSomeModels) {
  EXPECT_EQ(LayeredOf(absl::StrCat(R"({"model_type": "gemma3_text",
              "rope_theta": 1e6, "rope_local_base_freq": 20000.0,
              "rope_scaling": {"rope_type": "linear", "factor": 8.0}, )",
                                   kSlidingThenFull, "}")),
            "rope { base: 20000 layout: ROPE_LAYOUT_HALF_SPLIT } layers { "
            "period: 2 others { scheme { rope { base: 1000000 layout: "
            "ROPE_LAYOUT_HALF_SPLIT linear { factor: 8 } } } } window: 512 } ");
  EXPECT_EQ(LayeredOf(absl::StrCat(R"({"model_type": "olmo3",
              "rope_theta": 5e5,
              "rope_scaling": {"rope_type": "linear", "factor": 8.0}, )",
                                   kSlidingThenFull, "}")),
            "rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT } layers { "
            "period: 2 others { scheme { rope { base: 500000 layout: "
            "ROPE_LAYOUT_HALF_SPLIT linear { factor: 8 } } } } window: 512 } ");
}

TEST(HfModelsTest, NullBlockMeansNope) {
  const auto layered = [](const char* full, const char* sliding) {
    return LayeredOf(absl::StrCat(R"({"rope_parameters": {"full_attention": )",
                                  full, R"(, "sliding_attention": )", sliding,
                                  "}, ", kSlidingThenFull, "}"));
  };
  const char* const block = R"({"rope_type": "default", "rope_theta": 50000})";
  const char* const rope =
      "rope { base: 50000 layout: ROPE_LAYOUT_HALF_SPLIT } ";
  EXPECT_EQ(layered("null", block),
            absl::StrCat(rope,
                         "layers { period: 2 others { scheme { none { } } } "
                         "window: 512 } "));
  EXPECT_EQ(layered(block, "null"),
            absl::StrCat("none { } layers { period: 2 others { scheme { ", rope,
                         "} } window: 512 } "));
  EXPECT_EQ(SchemeOf(R"({"rope_parameters": {"full_attention": null,
                         "sliding_attention": null}})"),
            "none { } ");
  // The code of some models treats a null block as RoPE without scaling.
  EXPECT_THAT(SchemeOf(R"({"model_type": "gemma3_text", "rope_parameters": {
                           "full_attention": null,
                           "sliding_attention": {"rope_theta": 10000}}})"),
              HasSubstr("base: 1000000"));
}

TEST(HfModelsTest, EveryFourthLayerUsesNopeByDefault) {
  for (const char* const type : {"llama4", "llama4_text", "smollm3"}) {
    for (const char* const layers :
         {"", R"(, "no_rope_layers": [])", R"(, "no_rope_layers": null)"}) {
      const HfModel model = MustRead(absl::StrCat(
          R"({"rope_theta": 5, "model_type": ")", type, R"(")", layers, "}"));
      ASSERT_TRUE(model.layered.has_value()) << type << layers;
      EXPECT_THAT(TextOf(*model.layered), HasSubstr("layers { period: 4 }"));
      EXPECT_THAT(model.notes, Contains(HasSubstr("no_rope_layer_interval")));
    }
    const HfModel all = MustRead(
        absl::StrCat(R"({"rope_theta": 5, "no_rope_layers": [1, 1, 1, 1, 1],
                         "model_type": ")",
                     type, R"("})"));
    EXPECT_FALSE(all.layered.has_value());
    EXPECT_THAT(all.notes, IsEmpty());
  }
}

TEST(HfModelsTest, IgnoresPartialRotaryFactorWithQkRopeHeadDim) {
  const HfModel model = MustRead(R"({"model_type": "deepseek_v3",
    "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "rope_parameters": {
      "rope_type": "default", "rope_theta": 5,
      "partial_rotary_factor": 0.3333333333333333}})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 5 layout: ROPE_LAYOUT_INTERLEAVED } ");
  EXPECT_EQ(model.head_dim, 64);
  EXPECT_THAT(model.notes, Contains(HasSubstr("is ignored")));
}

TEST(HfModelsTest, ReadsInterleavedLayoutOfModelType) {
  for (const char* const type : {"kimi_k2", "deepseek_v32"}) {
    const HfModel model = MustRead(absl::StrCat(
        R"({"rope_theta": 5, "qk_rope_head_dim": 64, "model_type": ")", type,
        R"("})"));
    EXPECT_THAT(TextOf(model.scheme), HasSubstr("INTERLEAVED")) << type;
    EXPECT_THAT(model.notes, IsEmpty());
  }
  EXPECT_THAT(MustRead(R"({"model_type": "novel", "rope_theta": 5,
                           "qk_rope_head_dim": 64})")
                  .notes,
              Contains(HasSubstr("assuming half-split")));
}

TEST(HfModelsTest, LargeBaichuanUsesAlibi) {
  EXPECT_EQ(SchemeOf(R"({"model_type": "baichuan", "hidden_size": 5120,
                         "num_attention_heads": 40})"),
            "alibi { } ");
  EXPECT_THAT(SchemeOf(R"({"model_type": "baichuan", "hidden_size": 4096,
                           "num_attention_heads": 32})"),
              HasSubstr("rope"));
}

TEST(HfModelsTest, AlibiOfEncodersIsSymmetric) {
  const char* const text =
      R"({"model_type": "bert", "position_embedding_type": "alibi")";
  EXPECT_EQ(SchemeOf(absl::StrCat(text, "}")), "alibi { symmetric: true } ");
  EXPECT_EQ(SchemeOf(absl::StrCat(text, R"(, "is_decoder": true})")),
            "alibi { } ");
}

TEST(HfModelsTest, XglmIsSinusoidal) {
  const HfModel model = MustRead(R"({"model_type": "xglm", "d_model": 1024})");
  EXPECT_EQ(TextOf(model.scheme),
            "sinusoidal { layout: SINUSOIDAL_LAYOUT_TENSOR2TENSOR } ");
  EXPECT_THAT(model.notes, Contains(HasSubstr("begin at 2")));
}

TEST(HfModelsTest, AlphaIsNtkScaling) {
  for (const char* const block :
       {R"("type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
           "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0)",
        R"("type": "dynamic", "alpha": 1000)",
        R"("type": "xdrope", "alpha": 1000)"}) {
    const HfModel model = MustRead(absl::StrCat(
        R"({"rope_theta": 10000, "rope_scaling": {)", block, "}}"));
    EXPECT_THAT(TextOf(model.scheme), HasSubstr("ntk { factor: 1000 } }"));
    EXPECT_FALSE(model.scheme.rope().has_dynamic_ntk());
    EXPECT_THAT(model.notes, IsEmpty());
  }
  EXPECT_THAT(MustRead(R"({"rope_scaling": {"type": "xdrope", "alpha": 2,
                           "xdrope_section": [16, 16]}})")
                  .notes,
              Contains(HasSubstr("xdrope_section is not applied")));
}

TEST(HfModelsTest, ReadsAttnConfig) {
  const HfModel model = MustRead(R"({"model_type": "dbrx", "d_model": 6144,
    "n_heads": 48, "attn_config": {"clip_qkv": 8, "kv_n_heads": 8,
      "rope_theta": 500000, "rope_swirl": 1}})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 500000 layout: ROPE_LAYOUT_HALF_SPLIT } ");
  EXPECT_EQ(model.head_dim, 128);
  EXPECT_THAT(model.notes,
              testing::ElementsAre("not understood: attn_config.rope_swirl"));
  // attn_config.rope = false disables the other RoPE fields.
  const HfModel disabled = MustRead(R"({"model_type": "mpt", "attn_config": {
    "alibi": true, "rope": false, "rope_theta": 10000}})");
  EXPECT_EQ(TextOf(disabled.scheme), "alibi { } ");
  EXPECT_THAT(disabled.notes, IsEmpty());
  EXPECT_THAT(SchemeOf(R"({"model_type": "mpt", "attn_config": {
                           "alibi": false, "rope": true}})"),
              HasSubstr("rope"));
}

TEST(HfModelsTest, ReportsUseDynamicNtk) {
  EXPECT_THAT(MustRead(R"({"model_type": "qwen", "rotary_emb_base": 10000,
                           "use_dynamic_ntk": true})")
                  .notes,
              Contains("not understood: use_dynamic_ntk"));
}

TEST(HfModelsTest, ReadsLanguageModelOfMultimodalModels) {
  for (const char* const part :
       {"text_config", "llm_config", "language_config"}) {
    const HfModel model = MustRead(absl::StrCat(
        R"({"model_type": "outer", ")", part,
        R"(": {"model_type": "llama", "rope_theta": 1000000.0}})"));
    EXPECT_THAT(TextOf(model.scheme), HasSubstr("base: 1000000"));
    EXPECT_THAT(model.notes,
                testing::ElementsAre(absl::StrCat("using ", part)));
  }
}

TEST(HfModelsTest, ChatGlmMultipliesBaseByRopeRatio) {
  const HfModel model = MustRead(R"({"model_type": "chatglm",
    "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128,
    "original_rope": true, "rope_ratio": 500, "seq_length": 131072})");
  EXPECT_EQ(TextOf(model.scheme),
            "rope { base: 5000000 layout: ROPE_LAYOUT_INTERLEAVED rotary_dim: "
            "64 } ");
  EXPECT_EQ(model.trained_length, 131072);
  EXPECT_THAT(model.notes, testing::ElementsAre(HasSubstr("the default of")));
}

TEST(HfModelsTest, PartialRotaryFactorOfZeroIsNone) {
  EXPECT_EQ(SchemeOf(R"({"head_dim": 64, "partial_rotary_factor": 0})"),
            "none { } ");
  EXPECT_EQ(SchemeOf(R"({"rope_parameters": {"rope_type": "proportional",
                         "rope_theta": 5, "partial_rotary_factor": 0}})"),
            "rope { base: 5 layout: ROPE_LAYOUT_HALF_SPLIT proportional { "
            "share: 0 } } ");
}

}  // namespace
}  // namespace locus::client
