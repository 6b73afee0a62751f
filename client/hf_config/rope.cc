// Reads RoPE parameters other than scalings.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "client/hf_config/reading.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

// Reads whether the layout is interleaved or half-split.
absl::Status ReadLayout(HfReading& reading, v1::RopeScheme* rope) {
  Fields& config = reading.config;
  std::string kind;
  CLIENT_RETURN_IF_ERROR(config.Text({"position_embedding_type"}, &kind));
  bool interleaved = reading.type.interleaved || kind == "rope_gptj";
  if (config.Has("rope_interleave")) {
    interleaved = config.Flag("rope_interleave");
  } else if (config.Has("qk_rope_head_dim") && !reading.type.known) {
    // Models with multi-head latent attention use either layout.
    reading.Note(absl::StrCat("the RoPE layout is not specified; assuming ",
                              interleaved ? "interleaved" : "half-split"));
  }
  rope->set_layout(interleaved ? v1::ROPE_LAYOUT_INTERLEAVED
                               : v1::ROPE_LAYOUT_HALF_SPLIT);
  return absl::OkStatus();
}

// Reads the base from the configuration itself, attn_config, or the block that
// is not used otherwise.
absl::Status ReadOuterTheta(HfReading& reading, std::optional<double>* theta) {
  CLIENT_RETURN_IF_ERROR(reading.config.Number(
      {"rope_theta", "rotary_emb_base", "rope_base", "global_rope_theta"},
      theta));
  reading.attention.Use("rope");
  CLIENT_RETURN_IF_ERROR(reading.attention.Number({"rope_theta"}, theta));
  if (reading.other_block == nullptr) return absl::OkStatus();
  const Json& other = *reading.other_block;
  const auto full = other.find("full_attention");
  const bool has_kinds = full != other.end() && full->is_object();
  return Fields(has_kinds ? *full : other, "rope_parameters")
      .Number({"rope_theta"}, theta);
}

// Returns the default base of the model type and adds a note about it.
double DefaultTheta(HfReading& reading) {
  const double theta = reading.type.theta;
  if (theta != HfType().theta) reading.NoteDefault("rope_theta", theta);
  if (!reading.type.known && !reading.model_type.empty()) {
    reading.Note(absl::StrCat("rope_theta is left out; assumed ", theta,
                              ", since model_type \"", reading.model_type,
                              "\" is unknown"));
  }
  return theta;
}

absl::Status ReadTheta(HfReading& reading, Fields& block,
                       const HfRotation& rotation, v1::RopeScheme* rope) {
  std::optional<double> theta;
  double ratio = 1;
  CLIENT_RETURN_IF_ERROR(ReadOuterTheta(reading, &theta));
  CLIENT_RETURN_IF_ERROR(block.Number({"rope_theta"}, &theta));
  CLIENT_RETURN_IF_ERROR(reading.config.Number({"rope_ratio"}, &ratio));
  // ChatGLM configurations have original_rope beside rope_ratio. True means the
  // RoPE of the paper and needs no note; false is reported as not understood.
  const Json* original = reading.config.Peek("original_rope");
  if (original != nullptr && *original == true) {
    reading.config.Use("original_rope");
  }
  if (rotation.theta.has_value()) theta = rotation.theta;
  if (!theta.has_value()) theta = DefaultTheta(reading);
  if (!std::isfinite(*theta * ratio)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rope_theta times rope_ratio is ", *theta * ratio));
  }
  rope->set_base(*theta * ratio);
  return absl::OkStatus();
}

// Reads the partial rotary factor, if it is specified.
absl::Status ReadPartialRotaryFactor(HfReading& reading, Fields& block,
                                     std::optional<double>* factor) {
  CLIENT_RETURN_IF_ERROR(reading.config.Number(
      {"partial_rotary_factor", "rotary_pct", "rope_pct"}, factor));
  CLIENT_RETURN_IF_ERROR(block.Number({"partial_rotary_factor"}, factor));
  if (!factor->has_value()) return absl::OkStatus();
  if (**factor < 0 || **factor > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "partial_rotary_factor is ", **factor, ", which is not from 0 to 1"));
  }
  if (reading.config.Has("qk_rope_head_dim") && **factor != 1) {
    reading.Note(
        "partial_rotary_factor is ignored: qk_rope_head_dim specifies the "
        "rotated part of each head");
    *factor = 1;
  }
  return absl::OkStatus();
}

// Sets the number of rotated channels, if it is not the whole head. Without
// any, the scheme becomes `none`.
absl::Status SetRotaryDim(HfReading& reading, std::optional<double> factor,
                          int64_t head_dim, v1::Scheme* scheme) {
  int64_t rotary_dim = 0;
  CLIENT_RETURN_IF_ERROR(reading.config.Integer({"rotary_dim"}, &rotary_dim));
  if (rotary_dim < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rotary_dim is ", rotary_dim, ", which is below 0"));
  }
  if (!factor.has_value()) {
    const bool is_specified =
        rotary_dim != 0 || reading.config.Has("qk_rope_head_dim");
    factor = is_specified ? 1 : reading.type.partial_rotary_factor;
    if (factor != 1) reading.NoteDefault("partial_rotary_factor", *factor);
  }
  if (factor != 1 && !scheme->rope().has_proportional()) {
    if (head_dim <= 0) {
      return absl::InvalidArgumentError(
          "partial_rotary_factor needs the dimension of a head: there is "
          "neither head_dim nor hidden_size with num_attention_heads");
    }
    rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * *factor);
    if (rotary_dim == 0) {
      reading.Note("partial_rotary_factor leaves no channel to rotate");
      scheme->mutable_none();
      return absl::OkStatus();
    }
  }
  if (rotary_dim != 0 && rotary_dim != head_dim) {
    scheme->mutable_rope()->set_rotary_dim(rotary_dim);
  }
  return absl::OkStatus();
}

// Sets the trained and the target length. Scalings with an original length
// extend it to the maximum length; the others extend the maximum length itself.
void SetLengths(int64_t max_length, HfModel& model) {
  const v1::RopeScheme& rope = model.scheme.rope();
  const int64_t original = rope.has_yarn()     ? rope.yarn().original_length()
                           : rope.has_llama3() ? rope.llama3().original_length()
                           : rope.has_longrope()
                               ? rope.longrope().original_length()
                               : 0;
  model.trained_length = original > 0 ? original : max_length;
  if (original > 0 && max_length > original) model.target_length = max_length;
}

}  // namespace

absl::Status ReadRotation(HfReading& reading, const HfRotation& rotation,
                          v1::Scheme* scheme) {
  static const auto* const empty = new Json(Json::object());
  Fields block(rotation.block != nullptr ? *rotation.block : *empty,
               rotation.block_name);
  v1::RopeScheme* rope = scheme->mutable_rope();
  std::optional<double> factor;
  CLIENT_RETURN_IF_ERROR(ReadLayout(reading, rope));
  CLIENT_RETURN_IF_ERROR(ReadTheta(reading, block, rotation, rope));
  CLIENT_RETURN_IF_ERROR(ReadPartialRotaryFactor(reading, block, &factor));
  CLIENT_RETURN_IF_ERROR(ReadScaling(reading, block, factor.value_or(1), rope));
  for (const std::string& key : block.Unused()) {
    reading.NoteNotUnderstood(block, key);
  }
  return SetRotaryDim(reading, factor, rotation.head_dim, scheme);
}

absl::Status ReadRope(HfReading& reading) {
  CLIENT_ASSIGN_OR_RETURN(const std::optional<HfRotation> rotation,
                          ChooseRotation(reading));
  v1::Scheme& scheme = reading.model.scheme;
  if (!rotation.has_value()) {
    scheme.mutable_none();
    return absl::OkStatus();
  }
  CLIENT_RETURN_IF_ERROR(ReadRotation(reading, *rotation, &scheme));
  if (!scheme.has_rope()) return absl::OkStatus();
  if (reading.sliding && reading.sliding->block == nullptr &&
      !reading.sliding->theta) {
    reading.sliding->theta = scheme.rope().base();
  }
  SetLengths(reading.max_length, reading.model);
  return absl::OkStatus();
}

}  // namespace locus::client
