// Base change shared by static and dynamic NTK-aware scaling.
#pragma once

#include "core/encoding/rope_scaling/scaling.h"

namespace locus {

// Frequencies for a base multiplied by growth^(r / (r - 2)), where r is the
// rotary dimension. The last pair is slowed down by a factor of `growth`.
// Returns INVALID_ARGUMENT (field `factor`) if there is only one pair.
absl::StatusOr<ScaledPairs> ScaleBase(RopeShape shape, double growth);

}  // namespace locus
