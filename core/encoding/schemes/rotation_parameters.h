// Parameters that every scheme with rotated pairs has.
#pragma once

#include "core/encoding/parameters.h"
#include "core/encoding/scheme.h"

namespace locus {

// `base`, of the frequencies.
Parameter RotationBase();
// `layout`, and what was chosen; else `unset`.
Parameter RotationLayout();
Rotation::Pairing PairingOf(
    const Arguments& arguments,
    Rotation::Pairing unset = Rotation::Pairing::kAdjacent);

// The lengths of a rotation: those of the call, else the original length that
// the scheme knows (0: none) and that times its factor.
Rotation::Origin OriginWithin(const Geometry& geometry, int64_t original_length,
                              double factor);

}  // namespace locus
