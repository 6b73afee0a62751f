// Which block of a configuration says how layers turn.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/hf_config/reading.h"
#include "client/base/status_macros.h"

namespace locus::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFull[] = "full_attention";
constexpr char kSliding[] = "sliding_attention";

// A block without contents counts as none.
absl::StatusOr<const Json*> FindBlock(Fields& config, const char* name) {
  const Json* block = config.Find({name});
  if (block == nullptr) return nullptr;
  if (!block->is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not an object"));
  }
  return block->empty() ? nullptr : block;
}

// Of two blocks the library takes rope_scaling, the older one.
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
        "rope_parameters and rope_scaling are both there; took rope_scaling, "
        "and of rope_parameters at most rope_theta");
    reading.other_block = parameters;
  }
  chosen.head_dim = reading.model.head_dim;
  return chosen;
}

// The base of layers with a window, of models that have one.
absl::Status ReadLocalTheta(HfReading& reading, std::optional<double>* theta) {
  double local = reading.type.local_theta;
  if (local == 0) return absl::OkStatus();
  CLIENT_RETURN_IF_ERROR(reading.config.Number(
      {"rope_local_base_freq", "local_rope_theta"}, &local));
  *theta = local;
  return absl::OkStatus();
}

// Null if there is no such block, or it says that those layers stand.
const Json* BlockOf(HfReading& reading, const HfRotation& all, const char* kind,
                    bool* stands) {
  static const auto* const plain = new Json(Json::object());
  const auto found = all.block->find(kind);
  if (found == all.block->end()) return nullptr;
  if (found->is_object()) return &*found;
  if (!found->is_null()) return nullptr;
  if (reading.type.fills_null_blocks) return plain;
  reading.Note(absl::StrCat(all.block_name, ".", kind,
                            " is null: such layers have no positions"));
  *stands = true;
  return nullptr;
}

// Of layers with a window, whose block is not that of the others.
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

// A block for each kind of layer: takes the one of those that see all, if they
// turn, and keeps that of layers with a window.
absl::StatusOr<std::optional<HfRotation>> ChooseKind(
    HfReading& reading, const HfRotation& all,
    const std::vector<std::string>& kinds) {
  const Json& blocks = *all.block;
  const Json* full = BlockOf(reading, all, kFull, &reading.full_layers_stand);
  const Json* sliding =
      BlockOf(reading, all, kSliding, &reading.sliding_layers_stand);
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
                              absl::StrJoin(kinds, ", "), "; took ", name));
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

// One block, or none, for all layers: those with a window may still have a base
// of their own, and no part in the scaling.
absl::Status ReadSliding(HfReading& reading, const HfRotation& all) {
  HfRotation sliding = all;
  CLIENT_RETURN_IF_ERROR(ReadLocalTheta(reading, &sliding.theta));
  if (reading.type.scales_full_layers_only) sliding.block = nullptr;
  if (!sliding.theta.has_value() && sliding.block == all.block) {
    return absl::OkStatus();
  }
  reading.sliding = std::move(sliding);
  return absl::OkStatus();
}

// Blocks for kinds of layers, by name. Null ones are there, too, but not
// listed.
bool HasKinds(const Json& block, std::vector<std::string>* kinds) {
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
  if (rotation.block == nullptr || !HasKinds(*rotation.block, &kinds)) {
    CLIENT_RETURN_IF_ERROR(ReadSliding(reading, rotation));
    return rotation;
  }
  return ChooseKind(reading, rotation, kinds);
}

}  // namespace locus::client
