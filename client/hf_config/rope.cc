// How layers turn, but for scalings.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/hf_config/reading.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

absl::Status ReadLayout(HfReading& reading, v1::RopeScheme* rope) {
  Fields& config = reading.config;
  std::string kind;
  CLIENT_RETURN_IF_ERROR(config.Text({"position_embedding_type"}, &kind));
  bool neighbours = reading.type.neighbours || kind == "rope_gptj";
  if (config.Has("rope_interleave")) {
    neighbours = config.Flag("rope_interleave");
  } else if (config.Has("qk_rope_head_dim") && !reading.type.known) {
    // Models of this build are of either layout.
    reading.Note(absl::StrCat(
        "whether neighbouring channels turn together or halves is assumed: ",
        neighbours ? "took neighbours" : "took halves"));
  }
  rope->set_layout(neighbours ? v1::ROPE_LAYOUT_INTERLEAVED
                              : v1::ROPE_LAYOUT_HALF_SPLIT);
  return absl::OkStatus();
}

// The base that stands in no block, or in the one that is not read.
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

double DefaultTheta(HfReading& reading) {
  const double theta = reading.type.theta;
  if (theta != HfType().theta) reading.NoteDefault("rope_theta", theta);
  if (!reading.type.known && !reading.model_type.empty()) {
    reading.Note(absl::StrCat("rope_theta is left out; assumed ", theta,
                              ", for model_type \"", reading.model_type,
                              "\" is not known here"));
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
  // Beside the ratio: whether the code is that of the paper.
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

// The share of a head that turns, if anything says it.
absl::Status ReadShare(HfReading& reading, Fields& block,
                       std::optional<double>* share) {
  CLIENT_RETURN_IF_ERROR(reading.config.Number(
      {"partial_rotary_factor", "rotary_pct", "rope_pct"}, share));
  CLIENT_RETURN_IF_ERROR(block.Number({"partial_rotary_factor"}, share));
  if (!share->has_value()) return absl::OkStatus();
  if (**share < 0 || **share > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "partial_rotary_factor is ", **share, ", which is not from 0 to 1"));
  }
  if (reading.config.Has("qk_rope_head_dim") && **share != 1) {
    reading.Note(
        "partial_rotary_factor is passed over: it means qk_rope_head_dim, all "
        "of which turns");
    *share = 1;
  }
  return absl::OkStatus();
}

// How many channels turn; all if it is not set. Of none, the scheme is `none`.
absl::Status SetRotaryDim(HfReading& reading, std::optional<double> share,
                          int64_t head_dim, v1::Scheme* scheme) {
  int64_t rotary_dim = 0;
  CLIENT_RETURN_IF_ERROR(reading.config.Integer({"rotary_dim"}, &rotary_dim));
  if (rotary_dim < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("rotary_dim is ", rotary_dim, ", which is below 0"));
  }
  if (!share.has_value()) {
    const bool is_said =
        rotary_dim != 0 || reading.config.Has("qk_rope_head_dim");
    share = is_said ? 1 : reading.type.share;
    if (share != 1) reading.NoteDefault("partial_rotary_factor", *share);
  }
  if (share != 1 && !scheme->rope().has_proportional()) {
    if (head_dim <= 0) {
      return absl::InvalidArgumentError(
          "partial_rotary_factor needs the size of a head: there is neither "
          "head_dim nor hidden_size with num_attention_heads");
    }
    rotary_dim = static_cast<int64_t>(static_cast<double>(head_dim) * *share);
    if (rotary_dim == 0) {
      reading.Note("partial_rotary_factor leaves no channel that turns");
      scheme->mutable_none();
      return absl::OkStatus();
    }
  }
  if (rotary_dim != 0 && rotary_dim != head_dim) {
    scheme->mutable_rope()->set_rotary_dim(rotary_dim);
  }
  return absl::OkStatus();
}

// What was trained for, and the maximum of a scaling that knows a length of its
// own. Those that do not are for the maximum, and reach past it.
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
  std::optional<double> share;
  CLIENT_RETURN_IF_ERROR(ReadLayout(reading, rope));
  CLIENT_RETURN_IF_ERROR(ReadTheta(reading, block, rotation, rope));
  CLIENT_RETURN_IF_ERROR(ReadShare(reading, block, &share));
  CLIENT_RETURN_IF_ERROR(ReadScaling(reading, block, share.value_or(1), rope));
  for (const std::string& key : block.Unused()) {
    reading.NoteNotUnderstood(block, key);
  }
  return SetRotaryDim(reading, share, rotation.head_dim, scheme);
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
