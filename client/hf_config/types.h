// Defaults of the transformers library for each model type, for fields that a
// configuration leaves out.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus::client {

struct HfType {
  // False for unknown model types; the other fields then have the values below.
  bool known = false;
  // Uses RoPE even if no field of the configuration mentions it.
  bool uses_rope = false;
  // Interleaved RoPE layout; false for the half-split layout.
  bool interleaved = false;
  // Uses a learned position table even if no field mentions it.
  bool learned_table = false;
  double theta = 10000;
  double partial_rotary_factor = 1;
  // Number and dimension of heads; 0 if there is no default.
  int64_t head_count = 0;
  int64_t head_dim = 0;
  // Every nope_interval-th layer uses NoPE; 0 if there is no default.
  int64_t nope_interval = 0;
  // Keys that a sliding-window layer attends to; 0 if there is no default.
  int64_t window = 0;
  // Every window_pattern-th layer uses full attention, the others a sliding
  // window; 0 if there is no default.
  int64_t window_pattern = 0;
  // Base of the sliding-window layers; 0 if it is the same as `theta`.
  double local_theta = 0;
  // RoPE scaling applies to full-attention layers only.
  bool scales_full_layers_only = false;
  // Full-attention layers use NoPE.
  bool full_layers_use_nope = false;
  // A null block for a kind of layer means RoPE without scaling. For other
  // model types it means NoPE.
  bool null_block_means_rope = false;
};

// Returns the defaults of a model type, such as "llama".
const HfType& HfTypeOf(absl::string_view model_type);

}  // namespace locus::client
