// The configuration that models are published with (config.json of the
// transformers library) as a scheme, and a scheme as what stands in one.
//
// Read are rope_theta, rope_scaling or rope_parameters of every type that we
// have, the share of a head that turns, sizes of heads, flags and kinds of
// models that mean ALiBi, T5's relative bias, and learned positions. What
// concerns positions and was not understood is said, never passed over.
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

struct HfModel {
  v1::Scheme scheme;
  // 0 where the configuration does not say.
  int64_t head_dim = 0;
  int64_t head_count = 0;
  // Of rotations: what was trained for, and what a scaling is to reach.
  int64_t trained_length = 0;
  int64_t target_length = 0;
  // Where layers differ: the scheme with its layers, for models that are
  // trained; `scheme` is then that of the layers that see everything, or, if
  // those have no positions, of the others.
  std::optional<v1::Scheme> layered;
  // What was not understood, or chosen among several; for people.
  std::vector<std::string> notes;
};

// INVALID_ARGUMENT if the text is no such configuration, or says of positions
// what no scheme of ours is.
absl::StatusOr<HfModel> ReadHfConfig(absl::string_view text);

// The fields of a configuration that mean the scheme. `head_dim` is needed
// where a part of each head turns, else 0 will do. INVALID_ARGUMENT if no
// configuration can say it.
absl::StatusOr<nlohmann::ordered_json> WriteHfConfig(const v1::Scheme& scheme,
                                                     int64_t head_dim);
// What a scheme says that those fields do not; for people.
std::vector<std::string> UnwrittenOf(const v1::Scheme& scheme);

}  // namespace locus::client
