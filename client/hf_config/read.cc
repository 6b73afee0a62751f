// Determines the scheme of a configuration. RoPE is read by rope.cc, blocks.cc,
// scaling.cc and layers.cc.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/hf_config/hf_config.h"
#include "client/hf_config/reading.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Returns the object of that name, or an empty object.
const Json& ObjectIn(const Json& json, const char* name) {
  static const auto* const empty = new Json(Json::object());
  const auto found = json.find(name);
  return found != json.end() && found->is_object() ? *found : *empty;
}

// Reads the sizes of heads and the maximum length.
absl::Status ReadSizes(HfReading& reading) {
  Fields& config = reading.config;
  HfModel& model = reading.model;
  model.head_count = reading.type.head_count;
  CLIENT_RETURN_IF_ERROR(
      config.Integer({"num_attention_heads", "n_head", "n_heads", "num_heads"},
                     &model.head_count));
  CLIENT_RETURN_IF_ERROR(config.Integer(
      {"hidden_size", "n_embd", "d_model", "n_embed"}, &model.embedding_dim));
  if (model.head_count > 0) {
    model.head_dim = model.embedding_dim / model.head_count;
  }
  if (reading.type.head_dim > 0) model.head_dim = reading.type.head_dim;
  // With multi-head latent attention (DeepSeek-V2), RoPE applies to a part of
  // each head that has a projection of its own.
  if (config.Has("qk_rope_head_dim")) config.Use("qk_nope_head_dim");
  CLIENT_RETURN_IF_ERROR(
      config.Integer({"qk_rope_head_dim", "head_dim", "d_kv", "kv_channels"},
                     &model.head_dim));
  return config.Integer({"max_position_embeddings", "n_positions",
                         "max_seq_len", "n_ctx", "seq_length"},
                        &reading.max_length);
}

// The 13B models of type "baichuan" use ALiBi instead of RoPE.
bool IsLargeBaichuan(HfReading& reading) {
  int64_t width = 4096;
  return reading.model_type == "baichuan" &&
         reading.config.Integer({"hidden_size"}, &width).ok() && width != 4096;
}

// Reads an ALiBi scheme. Returns false if the model does not use ALiBi.
bool ReadAlibi(HfReading& reading) {
  Fields& config = reading.config;
  bool alibi = config.Flag("alibi") || config.Flag("use_alibi") ||
               reading.model_type == "bloom" || reading.model_type == "mpt" ||
               IsLargeBaichuan(reading);
  const Json* kind = config.Peek("position_embedding_type");
  const bool is_kind = kind != nullptr && *kind == "alibi";
  double bias_max = 0;
  if (!config.Number({"alibi_bias_max"}, &bias_max).ok()) bias_max = 0;
  Fields& attention = reading.attention;
  if (attention.Has("alibi")) alibi = attention.Flag("alibi");
  if (!attention.Number({"alibi_bias_max"}, &bias_max).ok()) bias_max = 0;
  if (!alibi && !is_kind) return false;
  config.Use("position_embedding_type");
  v1::AlibiScheme* scheme = reading.model.scheme.mutable_alibi();
  if (bias_max != 0) scheme->set_bias_max(bias_max);
  // Encoders attend in both directions.
  if (absl::StrContains(reading.model_type, "bert") &&
      !config.Flag("is_decoder")) {
    scheme->set_symmetric(true);
  }
  return true;
}

absl::Status ReadT5(HfReading& reading) {
  v1::T5BiasScheme* scheme = reading.model.scheme.mutable_t5_bias();
  int64_t buckets = 32;
  int64_t distance = 128;
  CLIENT_RETURN_IF_ERROR(
      reading.config.Integer({"relative_attention_num_buckets"}, &buckets));
  CLIENT_RETURN_IF_ERROR(
      reading.config.Integer({"relative_attention_max_distance"}, &distance));
  scheme->set_bucket_count(buckets);
  scheme->set_max_distance(distance);
  reading.Note(
      "encoders of this type are bidirectional (bidirectional: true), decoders "
      "are not; the bias table is part of the weights");
  return absl::OkStatus();
}

void ReadLearned(HfReading& reading) {
  v1::LearnedScheme* scheme = reading.model.scheme.mutable_learned();
  if (reading.max_length > 0) scheme->set_max_length(reading.max_length);
  reading.Note(
      "the position table is part of the weights, not of the configuration; "
      "pass it with --table");
}

void ReadSinusoidal(HfReading& reading) {
  reading.model.scheme.mutable_sinusoidal()->set_layout(
      v1::SINUSOIDAL_LAYOUT_TENSOR2TENSOR);
  reading.Note(
      "positions of this model begin at 2: its first token has the encoding of "
      "position 2");
}

// Whether a field that was not read yet concerns RoPE.
bool MentionsRope(const HfReading& reading) {
  for (const Fields* fields : {&reading.config, &reading.attention}) {
    for (const std::string& key : fields->Unused()) {
      if (absl::StrContains(key, "rope") || absl::StrContains(key, "rotary")) {
        return true;
      }
    }
  }
  return reading.config.Has("qk_rope_head_dim");
}

// Marks all RoPE fields as used, for configurations that disable RoPE.
void IgnoreRope(Fields& fields) {
  for (const std::string& key : fields.Unused()) {
    if (absl::StartsWith(key, "rope")) fields.Use(key);
  }
}

absl::Status NoPositionsError(const HfReading& reading) {
  return absl::InvalidArgumentError(absl::StrCat(
      "says nothing about positions: there is no rope_theta, rope_parameters, "
      "alibi or similar field",
      reading.model_type.empty()
          ? ", and no model_type that has a default"
          : absl::StrCat(", and model_type \"", reading.model_type,
                         "\" has no known default")));
}

absl::Status ReadScheme(HfReading& reading) {
  Fields& config = reading.config;
  const Json* flag = reading.attention.Peek("rope");
  if (flag != nullptr && *flag == false) IgnoreRope(reading.attention);
  if (ReadAlibi(reading)) return absl::OkStatus();
  if (config.Has("relative_attention_num_buckets")) return ReadT5(reading);
  std::string kind;
  CLIENT_RETURN_IF_ERROR(config.Text({"position_embedding_type"}, &kind));
  const bool uses_rope = reading.type.uses_rope || MentionsRope(reading);
  // Encoders with RoPE, such as ModernBERT, inherit "absolute" from BERT.
  if (kind == "absolute" && uses_rope) kind.clear();
  // MPT models without ALiBi have a learned table unless learned_pos_emb is
  // false.
  const bool has_mpt_table =
      reading.model_type == "mpt" && !MentionsRope(reading) &&
      (!config.Has("learned_pos_emb") || config.Flag("learned_pos_emb"));
  if (kind.empty() && reading.model_type == "xglm") {
    ReadSinusoidal(reading);
  } else if (kind == "absolute" ||
             (kind.empty() && (reading.type.learned_table || has_mpt_table))) {
    ReadLearned(reading);
  } else if (kind == "nope") {
    IgnoreRope(config);
    reading.model.scheme.mutable_none();
  } else if (kind == "rope" || kind == "rotary" || kind == "rope_gpt_neox" ||
             kind == "rope_gptj" || (kind.empty() && uses_rope)) {
    return ReadRope(reading);
  } else if (kind.empty()) {
    return NoPositionsError(reading);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("position_embedding_type is \"", kind,
                     "\", which is not a supported scheme"));
  }
  return absl::OkStatus();
}

// Adds a note for each unread field whose name suggests that it concerns
// positions.
void NoteUnused(HfReading& reading) {
  for (const Fields* fields : {&reading.config, &reading.attention}) {
    for (const std::string& key : fields->Unused()) {
      for (const char* const word : {"rope", "rotary", "alibi", "position",
                                     "relative", "nope", "ntk", "theta"}) {
        if (!absl::StrContains(key, word)) continue;
        reading.NoteNotUnderstood(*fields, key);
        break;
      }
    }
  }
}

absl::StatusOr<HfModel> ReadObject(const Json& json) {
  HfReading reading(json);
  CLIENT_RETURN_IF_ERROR(
      reading.config.Text({"model_type"}, &reading.model_type));
  reading.type = HfTypeOf(reading.model_type);
  CLIENT_RETURN_IF_ERROR(ReadSizes(reading));
  CLIENT_RETURN_IF_ERROR(ReadScheme(reading));
  if (reading.model.scheme.has_rope()) {
    CLIENT_RETURN_IF_ERROR(ReadLayers(reading));
  }
  NoteUnused(reading);
  return std::move(reading.model);
}

}  // namespace

HfReading::HfReading(const Json& json)
    : config(json, ""),
      attention(ObjectIn(json, "attn_config"), "attn_config") {}

void HfReading::Note(const std::string& text) {
  if (std::find(model.notes.begin(), model.notes.end(), text) ==
      model.notes.end()) {
    model.notes.push_back(text);
  }
}

void HfReading::NoteNotUnderstood(const Fields& fields,
                                  const std::string& key) {
  Note(absl::StrCat("not understood: ", fields.name(),
                    fields.name().empty() ? "" : ".", key));
}

absl::StatusOr<HfModel> ReadHfConfig(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) {
    return absl::InvalidArgumentError("is not a JSON object");
  }
  // Multimodal models keep the configuration of the language model in an object
  // of its own.
  for (const char* const part :
       {"text_config", "llm_config", "language_config"}) {
    if (!json.contains(part) || !json[part].is_object()) continue;
    auto model = ReadObject(json[part]);
    if (model.ok()) {
      model->notes.insert(model->notes.begin(), absl::StrCat("using ", part));
    }
    return model;
  }
  return ReadObject(json);
}

}  // namespace locus::client
