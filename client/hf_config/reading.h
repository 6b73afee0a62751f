// What the parts of reading a configuration share, and how they call each
// other; hf_config.h is for everybody else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/hf_config/hf_config.h"
#include "client/hf_config/types.h"
#include "client/hf_config/fields.h"
#include "locus/v1/scheme.pb.h"
#include "nlohmann/json.hpp"

namespace locus::client {

// How some layers turn.
struct HfRotation {
  // Null: as the configuration itself says.
  const nlohmann::ordered_json* block = nullptr;
  std::string block_name;
  int64_t head_dim = 0;
  // Whatever the rest says.
  std::optional<double> theta = std::nullopt;
};

// One configuration while it is read. The JSON must outlive it.
struct HfReading {
  explicit HfReading(const nlohmann::ordered_json& json);

  // Says it once, though several layers may ask for it.
  void Note(const std::string& text);
  void NoteNotUnderstood(const Fields& fields, const std::string& key);
  // Of a field that is left out.
  template <typename Value>
  void NoteDefault(absl::string_view field, Value value);

  Fields config;
  // Some models keep what concerns positions in there.
  Fields attention;
  std::string model_type;
  HfType type;
  int64_t max_length = 0;
  HfModel model;

  // The block of the two that is not read, but for its base; or null.
  const nlohmann::ordered_json* other_block = nullptr;
  // Where layers with a window turn in their own way.
  std::optional<HfRotation> sliding;
  // Layers that have no positions while others turn.
  bool full_layers_stand = false;
  bool sliding_layers_stand = false;
};

template <typename Value>
void HfReading::NoteDefault(absl::string_view field, Value value) {
  Note(absl::StrCat(field, " is left out; took ", value, ", the default of ",
                    model_type));
}

// How a model turns: its layers that see all, if they do. Nothing if no layer
// turns.
absl::StatusOr<std::optional<HfRotation>> ChooseRotation(HfReading& reading);
// A model that turns queries and keys: its scheme and its lengths.
absl::Status ReadRope(HfReading& reading);
// The scheme of such layers: `none` if no channel of theirs turns.
absl::Status ReadRotation(HfReading& reading, const HfRotation& rotation,
                          v1::Scheme* scheme);
// The scaling that a block asks for. `share` is that of the head that turns.
absl::Status ReadScaling(HfReading& reading, Fields& block, double share,
                         v1::RopeScheme* rope);
// Which layers differ from the others, where a pattern of ours can say it.
absl::Status ReadLayers(HfReading& reading);

}  // namespace locus::client
