// Parameters that every scheme with rotated pairs has.
#pragma once

#include "core/encoding/parameters.h"
#include "core/encoding/scheme.h"

namespace locus {

// `base`, of the frequencies.
Parameter RotationBase();
// `layout`, and what was chosen.
Parameter RotationLayout();
Rotation::Pairing PairingOf(const Arguments& arguments);

}  // namespace locus
