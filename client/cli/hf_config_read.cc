#include "client/cli/hf_config.h"

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/status_macros.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// One object of a configuration, which knows what it was not asked for.
class Fields {
 public:
  Fields(const Json& json, std::string name)
      : json_(json), name_(std::move(name)) {}

  bool Has(const std::string& key) const {
    return json_.contains(key) && !json_[key].is_null();
  }
  // The first of several names that is there; null if none is.
  const Json* Find(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      if (!Has(key)) continue;
      used_.insert(key);
      return &json_[key];
    }
    return nullptr;
  }
  absl::Status Number(const std::vector<std::string>& keys, double* value) {
    const Json* found = Find(keys);
    if (found == nullptr) return absl::OkStatus();
    if (!found->is_number()) return Wrong(keys, "a number");
    *value = found->get<double>();
    return absl::OkStatus();
  }
  absl::Status Integer(const std::vector<std::string>& keys, int64_t* value) {
    double number = static_cast<double>(*value);
    CLIENT_RETURN_IF_ERROR(Number(keys, &number));
    if (number != std::floor(number) || std::abs(number) > 0x1p53) {
      return Wrong(keys, "a whole number");
    }
    *value = static_cast<int64_t>(number);
    return absl::OkStatus();
  }
  bool Flag(const std::string& key) {
    const Json* found = Find({key});
    return found != nullptr && found->is_boolean() && found->get<bool>();
  }
  std::string Text(const std::vector<std::string>& keys) {
    const Json* found = Find(keys);
    return found != nullptr && found->is_string() ? found->get<std::string>()
                                                  : "";
  }
  void Use(const std::string& key) { used_.insert(key); }

  std::vector<std::string> Unused() const {
    std::vector<std::string> unused;
    for (const auto& [key, value] : json_.items()) {
      if (used_.count(key) == 0 && !value.is_null()) unused.push_back(key);
    }
    return unused;
  }
  const std::string& name() const { return name_; }

 private:
  absl::Status Wrong(const std::vector<std::string>& keys,
                     absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        name_, name_.empty() ? "" : ".", keys.front(), " is not ", what));
  }

  const Json& json_;
  const std::string name_;
  std::set<std::string> used_;
};

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

class Reader {
 public:
  explicit Reader(const Json& json) : config_(json, "") {}

  absl::StatusOr<HfModel> Read() {
    model_type_ = config_.Text({"model_type"});
    CLIENT_RETURN_IF_ERROR(ReadSizes());
    CLIENT_RETURN_IF_ERROR(ReadScheme());
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
    const std::string kind = config_.Text({"position_embedding_type"});
    if (kind == "absolute" || (kind.empty() && HasTable(model_type_))) {
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
    return ReadRope();
  }

  bool ReadAlibi() {
    bool alibi = config_.Flag("alibi") || config_.Flag("use_alibi") ||
                 model_type_ == "bloom";
    if (config_.Has("position_embedding_type") &&
        *config_.Find({"position_embedding_type"}) == "alibi") {
      alibi = true;
    }
    double bias_max = 0;
    if (const Json* attention = config_.Find({"attn_config"});
        attention != nullptr && attention->is_object()) {
      Fields fields(*attention, "attn_config");
      alibi |= fields.Flag("alibi");
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
    v1::RopeScheme* rope = model_.scheme.mutable_rope();
    const bool neighbours = config_.Has("rope_interleave")
                                ? config_.Flag("rope_interleave")
                                : TurnsNeighbours(model_type_);
    rope->set_layout(neighbours ? v1::ROPE_LAYOUT_INTERLEAVED
                                : v1::ROPE_LAYOUT_HALF_SPLIT);
    double theta = 10000;
    double share = 1;
    int64_t rotary_dim = 0;
    CLIENT_RETURN_IF_ERROR(
        config_.Number({"rope_theta", "rotary_emb_base", "rope_base"}, &theta));
    CLIENT_RETURN_IF_ERROR(config_.Number(
        {"partial_rotary_factor", "rotary_pct", "rope_pct"}, &share));
    CLIENT_RETURN_IF_ERROR(config_.Integer({"rotary_dim"}, &rotary_dim));

    std::string block_name = "rope_parameters";
    const Json* block = config_.Find({"rope_parameters"});
    if (const Json* older = config_.Find({"rope_scaling"}); block == nullptr) {
      block = older;
      block_name = "rope_scaling";
    }
    bool proportional = false;
    if (block != nullptr) {
      if (!block->is_object()) {
        return absl::InvalidArgumentError(
            absl::StrCat(block_name, " is not an object"));
      }
      block = OfOneKind(*block, &block_name);
      Fields fields(*block, block_name);
      CLIENT_RETURN_IF_ERROR(fields.Number({"rope_theta"}, &theta));
      CLIENT_RETURN_IF_ERROR(fields.Number({"partial_rotary_factor"}, &share));
      CLIENT_RETURN_IF_ERROR(ReadScaling(fields, share, rope));
      proportional = rope->has_proportional();
      for (const std::string& key : fields.Unused()) NotUnderstood(fields, key);
    }
    rope->set_base(theta);
    if (share != 1 && !proportional) {
      if (model_.head_dim == 0) {
        return absl::InvalidArgumentError(
            "partial_rotary_factor needs the size of a head: there is neither "
            "head_dim nor hidden_size with num_attention_heads");
      }
      rotary_dim =
          static_cast<int64_t>(static_cast<double>(model_.head_dim) * share);
    }
    if (rotary_dim != 0 && rotary_dim != model_.head_dim) {
      rope->set_rotary_dim(rotary_dim);
    }
    return absl::OkStatus();
  }

  // Newer configurations have a block for each kind of layer.
  const Json* OfOneKind(const Json& block, std::string* name) {
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
    return &block[chosen];
  }

  absl::Status ReadScaling(Fields& fields, double share, v1::RopeScheme* rope) {
    const std::string type = fields.Text({"rope_type", "type"});
    fields.Use("type");
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
