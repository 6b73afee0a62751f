// Finds the block of a configuration that holds the RoPE parameters.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/status_macros.h"
#include "client/hf_config/reading.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFull[] = "full_attention";
constexpr char kSliding[] = "sliding_attention";

// Returns the object of that name, or null if it is absent or empty.
absl::StatusOr<const Json*> FindBlock(Fields& config, const char* name) {
  const Json* block = config.Find({name});
  if (block == nullptr) return nullptr;
  if (!block->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not an object"));
  }
  return block->empty() ? nullptr : block;
}

// Chooses between rope_scaling and rope_parameters. If both are present, the
// transformers library uses rope_scaling, the older name.
absl::StatusOr<HfRotation> ChooseBlock(HfReading& reading) {
  CLIENT_ASSIGN_OR_RETURN(const Json* scaling,
                          FindBlock(reading.config, "rope_scaling"));
  CLIENT_ASSIGN_OR_RETURN(const Json* parameters,
                          FindBlock(reading.config, "rope_parameters"));
  HfRotation chosen{.block = scaling, .block_name = "rope_scaling"};
  if (scaling == nullptr) {
    chosen = {.block = parameters, .block_name = "rope_parameters"};
  } else if (parameters != nullptr) {
    reading.Note(
        "rope_parameters and rope_scaling are both present; using "
        "rope_scaling, and only rope_theta of rope_parameters");
    reading.other_block = parameters;
  }
  chosen.head_dim = reading.model.head_dim;
  return chosen;
}

// Reads the base of the sliding-window layers, for model types that have one.
absl::Status ReadLocalTheta(HfReading& reading, std::optional<double>* theta) {
  double local = reading.type.local_theta;
  if (local == 0) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(reading.config.Number(
      {"rope_local_base_freq", "local_rope_theta"}, &local));
  *theta = local;
  return absl::OkStatus();
}

// Returns the block of one kind of layer, or null if there is none. Sets
// `*uses_nope` if the block is null and thereby means NoPE.
const Json* FindLayerBlock(HfReading& reading, const HfRotation& all,
                           const char* kind, bool* uses_nope) {
  static const auto* const plain = new Json(Json::object());
  const auto found = all.block->find(kind);
  if (found == all.block->end()) return nullptr;
  if (found->is_object()) return &*found;
  if (!found->is_null()) return nullptr;
  if (reading.type.null_block_means_rope) return plain;
  reading.Note(absl::StrCat(all.block_name, ".", kind,
                            " is null: such layers have no positions"));
  *uses_nope = true;
  return nullptr;
}

// Sets the RoPE parameters of the sliding-window layers to a block of their
// own.
absl::Status SetSliding(HfReading& reading, const HfRotation& all,
                        const Json& block) {
  HfRotation sliding = all;
  sliding.block = &block;
  absl::StrAppend(&sliding.block_name, ".", kSliding);
  if (!block.contains("rope_theta")) {
    CLIENT_RETURN_IF_ERROR(ReadLocalTheta(reading, &sliding.theta));
  }
  reading.sliding = std::move(sliding);
  return absl::OkStatus();
}

// Handles a block for each kind of layer. Chooses the block of the
// full-attention layers unless they use NoPE, and keeps the block of the
// sliding-window layers.
absl::StatusOr<std::optional<HfRotation>> ChooseLayerBlock(
    HfReading& reading, const HfRotation& all,
    const std::vector<std::string>& kinds) {
  const Json& blocks = *all.block;
  const Json* full =
      FindLayerBlock(reading, all, kFull, &reading.full_layers_use_nope);
  const Json* sliding =
      FindLayerBlock(reading, all, kSliding, &reading.sliding_layers_use_nope);
  HfRotation chosen = all;
  chosen.block = full != nullptr ? full : sliding;
  std::string name = full != nullptr ? kFull : kSliding;
  if (chosen.block == nullptr) {
    if (kinds.empty()) return std::nullopt;
    name = kinds.front();
    chosen.block = &blocks[name];
  }
  if (!kinds.empty()) {
    reading.Note(absl::StrCat(all.block_name, " has blocks for ",
                              absl::StrJoin(kinds, ", "), "; using ", name));
  }
  absl::StrAppend(&chosen.block_name, ".", name);
  if (full == nullptr) return chosen;
  if (sliding != nullptr) {
    CLIENT_RETURN_IF_ERROR(SetSliding(reading, all, *sliding));
  }
  CLIENT_RETURN_IF_ERROR(
      reading.config.Integer({"global_head_dim"}, &reading.model.head_dim));
  chosen.head_dim = reading.model.head_dim;
  return chosen;
}

// Handles one block, or none, for all layers. The sliding-window layers may
// still have another base, and may be excluded from the scaling.
absl::Status ReadSlidingDefaults(HfReading& reading, const HfRotation& all) {
  HfRotation sliding = all;
  CLIENT_RETURN_IF_ERROR(ReadLocalTheta(reading, &sliding.theta));
  if (reading.type.scales_full_layers_only) sliding.block = nullptr;
  if (!sliding.theta.has_value() && sliding.block == all.block) {
    return absl::OkStatus();
  }
  reading.sliding = std::move(sliding);
  return absl::OkStatus();
}

// Whether a block consists of blocks for each kind of layer. Appends the names
// of those that are not null.
bool HasLayerBlocks(const Json& block, std::vector<std::string>* kinds) {
  bool has = false;
  for (const auto& [key, value] : block.items()) {
    if (value.is_object()) kinds->push_back(key);
    has = has || value.is_object() ||
          (value.is_null() && (key == kFull || key == kSliding));
  }
  return has;
}

}  // namespace

absl::StatusOr<std::optional<HfRotation>> ChooseRotation(HfReading& reading) {
  CLIENT_ASSIGN_OR_RETURN(HfRotation rotation, ChooseBlock(reading));
  std::vector<std::string> kinds;
  if (rotation.block == nullptr || !HasLayerBlocks(*rotation.block, &kinds)) {
    CLIENT_RETURN_IF_ERROR(ReadSlidingDefaults(reading, rotation));
    return rotation;
  }
  return ChooseLayerBlock(reading, rotation, kinds);
}

}  // namespace locus::client
