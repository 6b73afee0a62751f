// Shared state and internal functions of the configuration reader. The public
// interface is hf_config.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/hf_config/fields.h"
#include "client/hf_config/hf_config.h"
#include "client/hf_config/types.h"
#include "locus/v1/scheme.pb.h"
#include "nlohmann/json.hpp"

namespace locus::client {

// The source of the RoPE parameters of some layers.
struct HfRotation {
  // The rope_scaling or rope_parameters object; null if the parameters are
  // fields of the configuration itself.
  const nlohmann::ordered_json* block = nullptr;
  std::string block_name;
  int64_t head_dim = 0;
  // Overrides the base given anywhere else.
  std::optional<double> theta = std::nullopt;
};

// State while one configuration is read. The JSON must outlive it.
struct HfReading {
  explicit HfReading(const nlohmann::ordered_json& json);

  // Adds a note unless the same note exists already.
  void Note(const std::string& text);
  void NoteNotUnderstood(const Fields& fields, const std::string& key);
  // Adds a note that an absent field was set to the default of the model type.
  template <typename Value>
  void NoteDefault(absl::string_view field, Value value);

  Fields config;
  // The attn_config object, in which some models keep their position fields.
  Fields attention;
  std::string model_type;
  HfType type;
  int64_t max_length = 0;
  HfModel model;

  // rope_parameters if rope_scaling takes precedence over it; only its
  // rope_theta is read. Null otherwise.
  const nlohmann::ordered_json* other_block = nullptr;
  // RoPE parameters of the sliding-window layers, if they differ.
  std::optional<HfRotation> sliding;
  // Whether one kind of layer uses NoPE while the other uses RoPE.
  bool full_layers_use_nope = false;
  bool sliding_layers_use_nope = false;
};

template <typename Value>
void HfReading::NoteDefault(absl::string_view field, Value value) {
  Note(absl::StrCat(field, " is left out; using ", value, ", the default of ",
                    model_type));
}

// Finds the RoPE parameters of the full-attention layers, or of the
// sliding-window layers if the others use NoPE; nullopt if all layers use NoPE.
absl::StatusOr<std::optional<HfRotation>> ChooseRotation(HfReading& reading);
// Reads the scheme and the lengths of a model with RoPE.
absl::Status ReadRope(HfReading& reading);
// Reads the RoPE scheme of some layers. The scheme is `none` if the partial
// rotary factor leaves no channel to rotate.
absl::Status ReadRotation(HfReading& reading, const HfRotation& rotation,
                          v1::Scheme* scheme);
// Reads the RoPE scaling of a block.
absl::Status ReadScaling(HfReading& reading, Fields& block,
                         double partial_rotary_factor, v1::RopeScheme* rope);
// Reads the pattern of NoPE and sliding-window layers into
// HfModel::layered, if it is periodic.
absl::Status ReadLayers(HfReading& reading);

}  // namespace locus::client
