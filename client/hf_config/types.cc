#include "client/hf_config/types.h"

#include <map>
#include <string>

namespace locus::client {
namespace {

using Types = std::map<std::string, HfType, std::less<>>;

// Types with a learned table, and types with plain RoPE of base 10000.
void AddPlain(Types& types) {
  for (const char* const name :
       {"bert", "biogpt", "distilbert", "gpt2", "gpt_bigcode", "gpt_neo",
        "openai-gpt", "opt", "roberta"}) {
    types[name] = {.learned_table = true};
  }
  for (const char* const name :
       {"baichuan", "dbrx", "falcon", "gemma4", "gemma4_text", "granite",
        "granitemoe", "internlm2", "llama", "mistral", "olmo", "olmo2", "phi3",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "starcoder2"}) {
    types[name] = {.uses_rope = true};
  }
  for (const char* const name : {"codegen", "deepseek_v2", "deepseek_v3",
                                 "deepseek_v32", "gptj", "kimi_k2"}) {
    types[name] = {.uses_rope = true, .interleaved = true};
  }
}

// Types with another base.
void AddBases(Types& types) {
  types["cohere"] = {.uses_rope = true, .interleaved = true, .theta = 500000};
  types["ernie4_5"] = {.uses_rope = true, .interleaved = true, .theta = 500000};
  types["gpt_oss"] = {.uses_rope = true, .theta = 150000};
  types["helium"] = {.uses_rope = true, .interleaved = true, .theta = 100000};
  types["mixtral"] = {.uses_rope = true, .theta = 1e6};
  for (const char* const name :
       {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"}) {
    types[name] = {.uses_rope = true, .theta = 1e6};
  }
}

// Types with partial RoPE.
void AddPartialRotary(Types& types) {
  // The earlier generations of `glm`.
  types["chatglm"] = {
      .uses_rope = true, .interleaved = true, .partial_rotary_factor = 0.5};
  types["glm"] = {
      .uses_rope = true, .interleaved = true, .partial_rotary_factor = 0.5};
  types["glm4"] = {
      .uses_rope = true, .interleaved = true, .partial_rotary_factor = 0.5};
  types["glm4_moe"] = {.uses_rope = true, .partial_rotary_factor = 0.5};
  types["gpt_neox"] = {.uses_rope = true, .partial_rotary_factor = 0.25};
  types["nemotron"] = {.uses_rope = true, .partial_rotary_factor = 0.5};
  types["persimmon"] = {
      .uses_rope = true, .theta = 25000, .partial_rotary_factor = 0.5};
  types["phi"] = {.uses_rope = true, .partial_rotary_factor = 0.5};
  types["stablelm"] = {.uses_rope = true, .partial_rotary_factor = 0.25};
}

// Types with NoPE or sliding-window layers, or with head sizes of their own.
void AddLayered(Types& types) {
  types["cohere2"] = {.uses_rope = true,
                      .interleaved = true,
                      .window = 4096,
                      .window_pattern = 4,
                      .full_layers_use_nope = true};
  types["exaone4"] = {.uses_rope = true,
                      .window = 4096,
                      .window_pattern = 4,
                      .full_layers_use_nope = true};
  types["gemma"] = {.uses_rope = true, .head_count = 16, .head_dim = 256};
  types["gemma2"] = {.uses_rope = true, .head_count = 8, .head_dim = 256};
  types["gemma3"] = types["gemma3_text"] = {.uses_rope = true,
                                            .theta = 1e6,
                                            .head_count = 8,
                                            .head_dim = 256,
                                            .window = 4096,
                                            .window_pattern = 6,
                                            .local_theta = 10000,
                                            .scales_full_layers_only = true,
                                            .null_block_means_rope = true};
  types["llama4"] = types["llama4_text"] = {.uses_rope = true,
                                            .interleaved = true,
                                            .theta = 500000,
                                            .nope_interval = 4};
  types["modernbert"] = {.uses_rope = true,
                         .theta = 160000,
                         .local_theta = 10000,
                         .null_block_means_rope = true};
  types["olmo3"] = {.uses_rope = true,
                    .theta = 500000,
                    .window = 4096,
                    .window_pattern = 4,
                    .scales_full_layers_only = true,
                    .null_block_means_rope = true};
  types["smollm3"] = {.uses_rope = true, .theta = 2e6, .nope_interval = 4};
}

Types AllTypes() {
  Types types;
  AddPlain(types);
  AddBases(types);
  AddPartialRotary(types);
  AddLayered(types);
  for (auto& [name, type] : types) type.known = true;
  return types;
}

}  // namespace

const HfType& HfTypeOf(absl::string_view model_type) {
  static const auto* const types = new Types(AllTypes());
  static const auto* const unknown = new HfType;
  const auto found = types->find(model_type);
  return found == types->end() ? *unknown : found->second;
}

}  // namespace locus::client
