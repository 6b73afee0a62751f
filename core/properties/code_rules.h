// Checks of rules for codes that the naive encodings of naive.h break. The
// schemes of the registry make no promises about these rules.
#pragma once

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

// A position has the same code in sequences of any length.
CheckOutcome LengthIndependence(const Scheme& scheme);
// The codes of neighbouring positions are close, compared with the distance
// between the farthest codes.
CheckOutcome Smoothness(const Scheme& scheme);
// The last position of a sequence of any length has a code of its own.
CheckOutcome OpenEndedness(const Scheme& scheme);

}  // namespace locus
