#include "client/cli/hf_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/hf_fields.h"
#include "client/status_macros.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Models whose code turns neighbouring channels; all others turn halves.
bool TurnsNeighbours(const std::string& model_type) {
  static const auto* const types = new std::set<std::string>{
      "gptj",        "codegen",     "cohere", "cohere2",
      "glm",         "glm4",        "llama4", "llama4_text",
      "deepseek_v2", "deepseek_v3", "helium", "ernie4_5"};
  return types->count(model_type) > 0;
}

// Models with a table of positions and nothing else to say so.
bool HasTable(const std::string& model_type) {
  static const auto* const types = new std::set<std::string>{
      "gpt2",       "opt",        "gpt_neo",     "bert",   "roberta",
      "distilbert", "openai-gpt", "gpt_bigcode", "biogpt", "xglm"};
  return types->count(model_type) > 0;
}

// Models that turn queries and keys even where their configuration does not say
// so: it may leave out what is the library's default.
bool TurnsByDefault(const std::string& model_type) {
  static const auto* const types = new std::set<std::string>{
      "baichuan",    "codegen",   "cohere",      "cohere2",   "deepseek_v2",
      "deepseek_v3", "ernie4_5",  "exaone4",     "falcon",    "gemma",
      "gemma2",      "gemma3",    "gemma3_text", "gemma4",    "gemma4_text",
      "glm",         "glm4",      "glm4_moe",    "gpt_neox",  "gpt_oss",
      "gptj",        "granite",   "granitemoe",  "helium",    "internlm2",
      "llama",       "llama4",    "llama4_text", "mistral",   "mixtral",
      "nemotron",    "olmo",      "olmo2",       "olmo3",     "persimmon",
      "phi",         "phi3",      "qwen2",       "qwen2_moe", "qwen2_vl",
      "qwen3",       "qwen3_moe", "smollm3",     "stablelm",  "starcoder2"};
  return types->count(model_type) > 0;
}

// The share of a head that turns where a configuration leaves it out, as the
// library has it for some kinds of models; else all of it.
double DefaultShare(const std::string& model_type) {
  static const auto* const shares = new std::map<std::string, double>{
      {"gpt_neox", 0.25}, {"stablelm", 0.25}, {"phi", 0.5},
      {"glm", 0.5},       {"glm4", 0.5},      {"glm4_moe", 0.5},
      {"nemotron", 0.5},  {"persimmon", 0.5}};
  const auto found = shares->find(model_type);
  return found == shares->end() ? 1 : found->second;
}

// After how many layers a row of layers repeats, if all but the last of each
// round are of one kind; 0 if they are not.
int64_t PeriodOf(const std::vector<bool>& is_last) {
  const auto first = std::find(is_last.begin(), is_last.end(), true);
  const auto period = first - is_last.begin() + 1;
  if (first == is_last.end() || period < 2) return 0;
  for (size_t n = 0; n < is_last.size(); ++n) {
    const bool ends = static_cast<int64_t>(n + 1) % period == 0;
    if (is_last[n] != ends) return 0;
  }
  return period;
}

class Reader {
 public:
  explicit Reader(const Json& json) : config_(json, "") {}

  absl::StatusOr<HfModel> Read() {
    CLIENT_RETURN_IF_ERROR(config_.Text({"model_type"}, &model_type_));
    CLIENT_RETURN_IF_ERROR(ReadSizes());
    CLIENT_RETURN_IF_ERROR(ReadScheme());
    if (model_.scheme.has_rope()) CLIENT_RETURN_IF_ERROR(ReadLayers());
    NoteUnused();
    return std::move(model_);
  }

 private:
  absl::Status ReadSizes() {
    CLIENT_RETURN_IF_ERROR(config_.Integer(
        {"num_attention_heads", "n_head", "n_heads", "num_heads"},
        &model_.head_count));
    int64_t width = 0;
    CLIENT_RETURN_IF_ERROR(config_.Integer(
        {"hidden_size", "n_embd", "d_model", "n_embed"}, &width));
    if (model_.head_count > 0) model_.head_dim = width / model_.head_count;
    // Where a part of each head has a projection of its own, that part turns.
    if (config_.Has("qk_rope_head_dim")) config_.Use("qk_nope_head_dim");
    CLIENT_RETURN_IF_ERROR(config_.Integer(
        {"qk_rope_head_dim", "head_dim", "d_kv"}, &model_.head_dim));
    return config_.Integer(
        {"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"},
        &max_length_);
  }

  absl::Status ReadScheme() {
    if (ReadAlibi()) return absl::OkStatus();
    if (config_.Has("relative_attention_num_buckets")) return ReadT5();
    std::string kind;
    CLIENT_RETURN_IF_ERROR(config_.Text({"position_embedding_type"}, &kind));
    // Without ALiBi, models of this kind have a table unless they say not.
    const bool has_mpt_table =
        model_type_ == "mpt" &&
        (!config_.Has("learned_pos_emb") || config_.Flag("learned_pos_emb"));
    if (kind == "absolute" ||
        (kind.empty() && (HasTable(model_type_) || has_mpt_table))) {
      if (max_length_ > 0) {
        model_.scheme.mutable_learned()->set_max_length(max_length_);
      } else {
        model_.scheme.mutable_learned();
      }
      model_.notes.push_back(
          "the table of positions is among the weights, not in the "
          "configuration; give it with --table");
      return absl::OkStatus();
    }
    if (!kind.empty() && kind != "rope" && kind != "rotary" &&
        kind != "rope_gpt_neox") {
      return absl::InvalidArgumentError(
          absl::StrCat("position_embedding_type is \"", kind,
                       "\", which is no scheme known here"));
    }
    if (kind.empty() && !TurnsByDefault(model_type_) && !MentionsRope()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "says nothing of positions: there is no rope_theta, rope_parameters, "
          "alibi or the like",
          model_type_.empty() ? ", and no model_type that has a default"
                              : absl::StrCat(", and model_type \"", model_type_,
                                             "\" has no default known here")));
    }
    return ReadRope();
  }

  bool MentionsRope() const {
    for (const std::string& key : config_.Unused()) {
      if (absl::StrContains(key, "rope") || absl::StrContains(key, "rotary")) {
        return true;
      }
    }
    return config_.Has("qk_rope_head_dim");
  }

  bool ReadAlibi() {
    bool alibi = config_.Flag("alibi") || config_.Flag("use_alibi") ||
                 model_type_ == "bloom" || model_type_ == "mpt";
    if (config_.Has("position_embedding_type") &&
        *config_.Find({"position_embedding_type"}) == "alibi") {
      alibi = true;
    }
    double bias_max = 0;
    if (!config_.Number({"alibi_bias_max"}, &bias_max).ok()) bias_max = 0;
    if (const Json* attention = config_.Find({"attn_config"});
        attention != nullptr && attention->is_object()) {
      Fields fields(*attention, "attn_config");
      if (fields.Has("alibi")) alibi = fields.Flag("alibi");
      if (!fields.Number({"alibi_bias_max"}, &bias_max).ok()) bias_max = 0;
    }
    if (!alibi) return false;
    v1::AlibiScheme* scheme = model_.scheme.mutable_alibi();
    if (bias_max != 0) scheme->set_bias_max(bias_max);
    return true;
  }

  absl::Status ReadT5() {
    v1::T5BiasScheme* scheme = model_.scheme.mutable_t5_bias();
    int64_t buckets = 32;
    int64_t distance = 128;
    CLIENT_RETURN_IF_ERROR(
        config_.Integer({"relative_attention_num_buckets"}, &buckets));
    CLIENT_RETURN_IF_ERROR(
        config_.Integer({"relative_attention_max_distance"}, &distance));
    scheme->set_bucket_count(buckets);
    scheme->set_max_distance(distance);
    model_.notes.push_back(
        "encoders of this kind look both ways (bidirectional: true), decoders "
        "do not; the table is among the weights");
    return absl::OkStatus();
  }

  absl::Status ReadRope() {
    const Json* block = config_.Find({"rope_parameters"});
    const Json* older = config_.Find({"rope_scaling"});
    std::string name = block != nullptr ? "rope_parameters" : "rope_scaling";
    if (block != nullptr && older != nullptr) {
      model_.notes.emplace_back(
          "rope_parameters and rope_scaling are both there; took "
          "rope_parameters, and nothing of rope_scaling");
    }
    if (block == nullptr) block = older;
    if (block != nullptr) {
      if (!block->is_object()) {
        return absl::InvalidArgumentError(
            absl::StrCat(name, " is not an object"));
      }
      CLIENT_ASSIGN_OR_RETURN(block, OfOneKind(*block, &name));
    }
    CLIENT_RETURN_IF_ERROR(
        RopeOf(block, name, model_.head_dim, model_.scheme.mutable_rope()));
    SetLengths(model_.scheme.rope());
    return absl::OkStatus();
  }

  // RoPE of the whole configuration and of one block of it, if there is one.
  absl::Status RopeOf(const Json* block, const std::string& block_name,
                      int64_t head_dim, v1::RopeScheme* rope) {
    const bool neighbours = config_.Has("rope_interleave")
                                ? config_.Flag("rope_interleave")
                                : TurnsNeighbours(model_type_);
    rope->set_layout(neighbours ? v1::ROPE_LAYOUT_INTERLEAVED
                                : v1::ROPE_LAYOUT_HALF_SPLIT);
    double theta = 10000;
    double share = 0;
    int64_t rotary_dim = 0;
    CLIENT_RETURN_IF_ERROR(
        config_.Number({"rope_theta", "rotary_emb_base", "rope_base"}, &theta));
    CLIENT_RETURN_IF_ERROR(config_.Number(
        {"partial_rotary_factor", "rotary_pct", "rope_pct"}, &share));
    CLIENT_RETURN_IF_ERROR(config_.Integer({"rotary_dim"}, &rotary_dim));
    if (block != nullptr) {
      Fields fields(*block, block_name);
      CLIENT_RETURN_IF_ERROR(fields.Number({"rope_theta"}, &theta));
      CLIENT_RETURN_IF_ERROR(fields.Number({"partial_rotary_factor"}, &share));
      CLIENT_RETURN_IF_ERROR(ReadScaling(fields, share == 0 ? 1 : share, rope));
      for (const std::string& key : fields.Unused()) NotUnderstood(fields, key);
    }
    rope->set_base(theta);
    if (share == 0) {
      share = rotary_dim != 0 ? 1 : DefaultShare(model_type_);
      if (share != 1) {
        model_.notes.push_back(
            absl::StrCat("partial_rotary_factor is left out; took ", share,
                         ", the default of ", model_type_));
      }
    }
    if (share != 1 && !rope->has_proportional()) {
      if (head_dim == 0) {
        return absl::InvalidArgumentError(
            "partial_rotary_factor needs the size of a head: there is neither "
            "head_dim nor hidden_size with num_attention_heads");
      }
      rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * share);
    }
    if (rotary_dim != 0 && rotary_dim != head_dim) {
      rope->set_rotary_dim(rotary_dim);
    }
    return absl::OkStatus();
  }

  // What was trained for, and the maximum of a scaling that knows a length of
  // its own. Those that do not are for the maximum, and reach past it.
  void SetLengths(const v1::RopeScheme& rope) {
    const int64_t original =
        rope.has_yarn()       ? rope.yarn().original_length()
        : rope.has_llama3()   ? rope.llama3().original_length()
        : rope.has_longrope() ? rope.longrope().original_length()
                              : 0;
    model_.trained_length = original > 0 ? original : max_length_;
    if (original > 0 && max_length_ > original) {
      model_.target_length = max_length_;
    }
  }

  // Which layers differ from the others, where a pattern of ours can say it.
  absl::Status ReadLayers() {
    int64_t period = 0;
    if (const Json* turns = Unread("no_rope_layers");
        turns != nullptr && !turns->empty()) {
      std::vector<bool> stand;  // 1 stands for layers that turn
      for (const Json& layer : *turns) stand.push_back(layer == 0);
      period = PeriodOf(stand);
      if (period > 0) config_.Use("no_rope_layers");
    } else {
      if (turns != nullptr) config_.Use("no_rope_layers");
      CLIENT_RETURN_IF_ERROR(
          config_.Integer({"no_rope_layer_interval"}, &period));
    }
    if (period > 1) {
      config_.Use("no_rope_layer_interval");
      model_.layered = model_.scheme;
      model_.layered->mutable_layers()->set_period(period);
      return absl::OkStatus();
    }
    return ReadWindows();
  }

  // Layers that see a window alone, and after some of them one that sees all.
  absl::Status ReadWindows() {
    const Json* kinds = Unread("layer_types");
    int64_t window = 0;
    CLIENT_RETURN_IF_ERROR(config_.Integer({"sliding_window"}, &window));
    if (kinds == nullptr || window < 1) return absl::OkStatus();
    std::vector<bool> sees_all;
    for (const Json& kind : *kinds) {
      if (kind != "full_attention" && kind != "sliding_attention") {
        return absl::OkStatus();
      }
      sees_all.push_back(kind == "full_attention");
    }
    const int64_t period = PeriodOf(sees_all);
    if (period == 0) return absl::OkStatus();
    v1::Scheme layered = model_.scheme;
    if (sliding_ != nullptr) {
      layered.Clear();
      CLIENT_RETURN_IF_ERROR(RopeOf(sliding_,
                                    "rope_parameters.sliding_attention",
                                    sliding_head_dim_, layered.mutable_rope()));
    }
    layered.mutable_layers()->set_period(period);
    layered.mutable_layers()->set_window(window);
    *layered.mutable_layers()->add_others()->mutable_scheme() = model_.scheme;
    model_.layered = std::move(layered);
    return absl::OkStatus();
  }

  // A list, which counts as not understood until it is used.
  const Json* Unread(const std::string& key) {
    const Json* found = config_.Peek(key);
    return found != nullptr && found->is_array() ? found : nullptr;
  }

  // Newer configurations have a block for each kind of layer.
  absl::StatusOr<const Json*> OfOneKind(const Json& block, std::string* name) {
    std::vector<std::string> kinds;
    for (const auto& [key, value] : block.items()) {
      if (value.is_object()) kinds.push_back(key);
    }
    if (kinds.empty()) return &block;
    const std::string chosen =
        block.contains("full_attention") ? "full_attention" : kinds.front();
    model_.notes.push_back(absl::StrCat(*name, " has blocks for ",
                                        absl::StrJoin(kinds, ", "), "; took ",
                                        chosen));
    absl::StrAppend(name, ".", chosen);
    sliding_head_dim_ = model_.head_dim;
    if (chosen == "full_attention") {
      if (block.contains("sliding_attention") &&
          block["sliding_attention"].is_object()) {
        sliding_ = &block["sliding_attention"];
      }
      CLIENT_RETURN_IF_ERROR(
          config_.Integer({"global_head_dim"}, &model_.head_dim));
    }
    return &block[chosen];
  }

  absl::Status ReadScaling(Fields& fields, double share, v1::RopeScheme* rope) {
    std::string type;
    CLIENT_RETURN_IF_ERROR(fields.Text({"rope_type", "type"}, &type));
    fields.Use("type");
    if (type == "mrope" || (type == "default" && fields.Has("mrope_section"))) {
      fields.Use("mrope_section");
      model_.notes.push_back(absl::StrCat(
          fields.name(),
          ".mrope_section is not applied: words alone have the same position "
          "in every section, and turn as without sections"));
      return absl::OkStatus();
    }
    if (type.empty() && fields.Has("factor")) {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.name(),
                       ".factor is there, but no rope_type says "
                       "what it is a factor of"));
    }
    if (type.empty() || type == "default") return absl::OkStatus();
    double factor = 0;
    int64_t original = 0;
    CLIENT_RETURN_IF_ERROR(fields.Number({"factor"}, &factor));
    CLIENT_RETURN_IF_ERROR(
        config_.Integer({"original_max_position_embeddings"}, &original));
    const bool from_config = original > 0;
    CLIENT_RETURN_IF_ERROR(
        fields.Integer({"original_max_position_embeddings"}, &original));
    if (original == 0) original = max_length_;
    if (type == "longrope" || type == "su") {
      return ReadLongRope(fields, factor, original, from_config,
                          rope->mutable_longrope());
    }
    if (factor == 0 && type == "yarn" && original > 0 && max_length_ > 0) {
      factor = static_cast<double>(max_length_) / static_cast<double>(original);
    }
    if (type == "proportional") {
      rope->mutable_proportional()->set_share(share);
      if (factor != 0) rope->mutable_proportional()->set_factor(factor);
      return absl::OkStatus();
    }
    if (factor == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.name(), ".factor is missing"));
    }
    if (type == "linear") {
      rope->mutable_linear()->set_factor(factor);
    } else if (type == "ntk") {
      rope->mutable_ntk()->set_factor(factor);
    } else if (type == "dynamic") {
      rope->mutable_dynamic_ntk()->set_factor(factor);
      if (max_length_ > 0) {
        rope->mutable_dynamic_ntk()->set_max_position(max_length_);
      }
    } else if (type == "yarn") {
      return ReadYarn(fields, factor, original, rope->mutable_yarn());
    } else if (type == "llama3") {
      return ReadLlama3(fields, factor, original, rope->mutable_llama3());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(fields.name(), " is of type \"", type,
                       "\", which is no scaling known here"));
    }
    return absl::OkStatus();
  }

  static absl::Status ReadYarn(Fields& fields, double factor, int64_t original,
                               v1::YarnScaling* yarn) {
    yarn->set_factor(factor);
    if (original > 0) yarn->set_original_length(original);
    const auto number = [&](const char* key, auto set) {
      double value = 0;
      CLIENT_RETURN_IF_ERROR(fields.Number({key}, &value));
      if (value != 0) set(value);  // a zero counts as left out there
      return absl::OkStatus();
    };
    CLIENT_RETURN_IF_ERROR(
        number("beta_fast", [&](double v) { yarn->set_beta_fast(v); }));
    CLIENT_RETURN_IF_ERROR(
        number("beta_slow", [&](double v) { yarn->set_beta_slow(v); }));
    CLIENT_RETURN_IF_ERROR(number(
        "attention_factor", [&](double v) { yarn->set_attention_factor(v); }));
    CLIENT_RETURN_IF_ERROR(
        number("mscale", [&](double v) { yarn->set_mscale(v); }));
    CLIENT_RETURN_IF_ERROR(number(
        "mscale_all_dim", [&](double v) { yarn->set_mscale_all_dim(v); }));
    if (fields.Has("truncate")) yarn->set_truncate(fields.Flag("truncate"));
    return absl::OkStatus();
  }

  static absl::Status ReadLlama3(Fields& fields, double factor,
                                 int64_t original, v1::Llama3Scaling* llama3) {
    double low = 1;
    double high = 4;
    CLIENT_RETURN_IF_ERROR(fields.Number({"low_freq_factor"}, &low));
    CLIENT_RETURN_IF_ERROR(fields.Number({"high_freq_factor"}, &high));
    llama3->set_factor(factor);
    llama3->set_low_freq_factor(low);
    llama3->set_high_freq_factor(high);
    if (original > 0) llama3->set_original_length(original);
    return absl::OkStatus();
  }

  // Where the configuration itself has the original length, the ratio of
  // lengths is the factor, whatever the block says.
  absl::Status ReadLongRope(Fields& fields, double factor, int64_t original,
                            bool from_config, v1::LongropeScaling* longrope) {
    if ((from_config || factor == 0) && original > 0 && max_length_ > 0) {
      factor = static_cast<double>(max_length_) / static_cast<double>(original);
    }
    if (factor != 0) longrope->set_factor(factor);
    if (original > 0) longrope->set_original_length(original);
    double attention_factor = 0;
    CLIENT_RETURN_IF_ERROR(
        fields.Number({"attention_factor"}, &attention_factor));
    if (attention_factor != 0) longrope->set_attention_factor(attention_factor);
    for (const auto& [key, list] :
         {std::pair("short_factor", longrope->mutable_short_factors()),
          std::pair("long_factor", longrope->mutable_long_factors())}) {
      const Json* found = fields.Find({key});
      if (found == nullptr || !found->is_array()) {
        return absl::InvalidArgumentError(
            absl::StrCat(fields.name(), ".", key, " is missing"));
      }
      for (const Json& value : *found) {
        if (!value.is_number()) {
          return absl::InvalidArgumentError(
              absl::StrCat(fields.name(), ".", key, " is no list of numbers"));
        }
        list->Add(value.get<double>());
      }
    }
    return absl::OkStatus();
  }

  void NotUnderstood(const Fields& fields, const std::string& key) {
    model_.notes.push_back(absl::StrCat("not understood: ", fields.name(),
                                        fields.name().empty() ? "" : ".", key));
  }

  // Most of a configuration is about other things.
  void NoteUnused() {
    for (const std::string& key : config_.Unused()) {
      for (const char* const word :
           {"rope", "rotary", "alibi", "position", "relative", "nope"}) {
        if (!absl::StrContains(key, word)) continue;
        NotUnderstood(config_, key);
        break;
      }
    }
  }

  Fields config_;
  HfModel model_;
  std::string model_type_;
  int64_t max_length_ = 0;
  // Where layers with a window have a block of their own; else null.
  const Json* sliding_ = nullptr;
  int64_t sliding_head_dim_ = 0;
};

}  // namespace

absl::StatusOr<HfModel> ReadHfConfig(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return absl::InvalidArgumentError("is no JSON object");
  }
  // Models of several kinds of input keep the words' part apart.
  if (json.contains("text_config") && json["text_config"].is_object()) {
    auto model = Reader(json["text_config"]).Read();
    if (model.ok())
      model->notes.insert(model->notes.begin(), "took text_config");
    return model;
  }
  return Reader(json).Read();
}

}  // namespace locus::client
