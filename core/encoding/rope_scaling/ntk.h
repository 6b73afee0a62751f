// What both kinds of NTK-aware scaling do to the base.
#pragma once

#include "core/encoding/rope_scaling/scaling.h"

namespace locus {

// The pairs for a base multiplied by growth^(r / (r - 2)), which slows the last
// pair down by `growth`. INVALID_ARGUMENT (field `factor`) if there is one pair
// alone.
absl::StatusOr<ScaledPairs> ScaleBase(RopeShape shape, double growth);

}  // namespace locus
