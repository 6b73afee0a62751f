// Conversion between schemes and the configuration files that models are
// published with (config.json of the Hugging Face transformers library).
//
// Reading covers RoPE (rope_theta, rope_scaling and rope_parameters with every
// supported scaling, partial rotary factors, interleaved and half-split
// layout), NoPE and sliding-window layers, ALiBi, T5's relative bias and
// learned position tables. A field that concerns positions but is not
// understood is reported in HfModel::notes, never ignored silently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "locus/v1/scheme.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// The parts of a model configuration that concern positions.
struct HfModel {
  v1::Scheme scheme;
  // Dimension and number of heads; 0 if the configuration does not specify
  // them.
  int64_t head_dim = 0;
  int64_t head_count = 0;
  // Width of the embeddings; 0 if the configuration does not specify it.
  int64_t embedding_dim = 0;
  // For RoPE: the context length of the training, and the length that a scaling
  // extends it to; 0 if unknown.
  int64_t trained_length = 0;
  int64_t target_length = 0;
  // For models whose layers differ: the scheme with its layer pattern, for use
  // in training. `scheme` is then the scheme of the full-attention layers, or
  // of the sliding-window layers if the full-attention layers use NoPE.
  std::optional<v1::Scheme> layered;
  // Human-readable notes about fields that were not understood and about
  // assumptions and choices that were made.
  std::vector<std::string> notes;
  // The name of the configuration file without its folder, for messages. Set
  // by the command line; empty for a scheme that comes from no file.
  std::string file_name;
};

// Parses the text of a config.json. INVALID_ARGUMENT if the text is not a model
// configuration, or its positions correspond to no supported scheme.
absl::StatusOr<HfModel> ReadHfConfig(absl::string_view text);

// Returns the configuration fields that express the scheme. `head_dim` is only
// needed for partial RoPE and may be 0 otherwise. INVALID_ARGUMENT if a
// configuration cannot express the scheme.
absl::StatusOr<nlohmann::ordered_json> WriteHfConfig(const v1::Scheme& scheme,
                                                     int64_t head_dim);
// Returns human-readable notes about parameters of the scheme that the fields
// of WriteHfConfig() do not express.
std::vector<std::string> UnwrittenOf(const v1::Scheme& scheme);

}  // namespace locus::client
