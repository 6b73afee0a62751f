#include "client/hf_config/types.h"

#include <map>
#include <string>

namespace locus::client {
namespace {

using Types = std::map<std::string, HfType, std::less<>>;

// Those with tables, and those that have nothing else to say than that they
// turn.
void AddPlain(Types& types) {
  for (const char* const name :
       {"bert", "biogpt", "distilbert", "gpt2", "gpt_bigcode", "gpt_neo",
        "openai-gpt", "opt", "roberta"}) {
    types[name] = {.table = true};
  }
  for (const char* const name :
       {"baichuan", "dbrx", "falcon", "gemma4", "gemma4_text", "granite",
        "granitemoe", "internlm2", "llama", "mistral", "olmo", "olmo2", "phi3",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "starcoder2"}) {
    types[name] = {.turns = true};
  }
  for (const char* const name : {"codegen", "deepseek_v2", "deepseek_v3",
                                 "deepseek_v32", "gptj", "kimi_k2"}) {
    types[name] = {.turns = true, .neighbours = true};
  }
}

void AddBases(Types& types) {
  types["cohere"] = {.turns = true, .neighbours = true, .theta = 500000};
  types["ernie4_5"] = {.turns = true, .neighbours = true, .theta = 500000};
  types["gpt_oss"] = {.turns = true, .theta = 150000};
  types["helium"] = {.turns = true, .neighbours = true, .theta = 100000};
  types["mixtral"] = {.turns = true, .theta = 1e6};
  for (const char* const name :
       {"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"}) {
    types[name] = {.turns = true, .theta = 1e6};
  }
}

void AddShares(Types& types) {
  // The first generations of what is `glm` now.
  types["chatglm"] = {.turns = true, .neighbours = true, .share = 0.5};
  types["glm"] = {.turns = true, .neighbours = true, .share = 0.5};
  types["glm4"] = {.turns = true, .neighbours = true, .share = 0.5};
  types["glm4_moe"] = {.turns = true, .share = 0.5};
  types["gpt_neox"] = {.turns = true, .share = 0.25};
  types["nemotron"] = {.turns = true, .share = 0.5};
  types["persimmon"] = {.turns = true, .theta = 25000, .share = 0.5};
  types["phi"] = {.turns = true, .share = 0.5};
  types["stablelm"] = {.turns = true, .share = 0.25};
}

// Those whose layers differ.
void AddLayered(Types& types) {
  types["cohere2"] = {.turns = true,
                      .neighbours = true,
                      .window = 4096,
                      .window_pattern = 4,
                      .full_layers_stand = true};
  types["exaone4"] = {.turns = true,
                      .window = 4096,
                      .window_pattern = 4,
                      .full_layers_stand = true};
  types["gemma"] = {.turns = true, .head_count = 16, .head_dim = 256};
  types["gemma2"] = {.turns = true, .head_count = 8, .head_dim = 256};
  types["gemma3"] = types["gemma3_text"] = {.turns = true,
                                            .theta = 1e6,
                                            .head_count = 8,
                                            .head_dim = 256,
                                            .window = 4096,
                                            .window_pattern = 6,
                                            .local_theta = 10000,
                                            .scales_full_layers_only = true,
                                            .fills_null_blocks = true};
  types["llama4"] = types["llama4_text"] = {
      .turns = true, .neighbours = true, .theta = 500000, .nope_interval = 4};
  types["modernbert"] = {.turns = true,
                         .theta = 160000,
                         .local_theta = 10000,
                         .fills_null_blocks = true};
  types["olmo3"] = {.turns = true,
                    .theta = 500000,
                    .window = 4096,
                    .window_pattern = 4,
                    .scales_full_layers_only = true,
                    .fills_null_blocks = true};
  types["smollm3"] = {.turns = true, .theta = 2e6, .nope_interval = 4};
}

Types AllTypes() {
  Types types;
  AddPlain(types);
  AddBases(types);
  AddShares(types);
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
