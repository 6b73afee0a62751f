// What the library's code does for a kind of model where its configuration does
// not say.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus::client {

struct HfType {
  // False of kinds that are not known here; all else is then as below.
  bool known = false;
  // Turns queries and keys even where nothing says so: a configuration may
  // leave out what is the default.
  bool turns = false;
  // Turns neighbouring channels, not halves.
  bool neighbours = false;
  // Has a table of positions, and nothing else to say so.
  bool table = false;
  double theta = 10000;
  // The share of a head that turns.
  double share = 1;
  // 0: not known, as all below.
  int64_t head_count = 0;
  int64_t head_dim = 0;
  // After so many layers comes one that does not turn.
  int64_t nope_interval = 0;
  // Layers with a window, and after how many layers comes one that sees all.
  int64_t window = 0;
  int64_t window_pattern = 0;
  // The base in layers with a window, where they have one of their own.
  double local_theta = 0;
  // Scalings are for layers that see all.
  bool scales_full_layers_only = false;
  // Layers that see all do not turn.
  bool full_layers_stand = false;
  // A block that is null means plain rotations, elsewhere none at all.
  bool fills_null_blocks = false;
};

const HfType& HfTypeOf(absl::string_view model_type);

}  // namespace locus::client
