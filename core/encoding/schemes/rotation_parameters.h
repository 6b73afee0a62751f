// Parameters shared by all schemes that rotate pairs of channels.
#pragma once

#include "core/encoding/parameters.h"
#include "core/encoding/scheme.h"

namespace locus {

// Declaration of `base`, the base of the frequencies.
Parameter RotationBase();
// Declaration of `layout`, the pairing of channels.
Parameter RotationLayout();
// The pairing that `layout` selects; `unset` if it is not set.
Rotation::Pairing PairingOf(
    const Arguments& arguments,
    Rotation::Pairing unset = Rotation::Pairing::kAdjacent);

// The lengths of a rotation. Lengths of the geometry take precedence. Otherwise
// they are the scheme's original length (0: unknown) and that length times the
// factor.
Rotation::Origin OriginWithin(const Geometry& geometry, int64_t original_length,
                              double factor);

}  // namespace locus
