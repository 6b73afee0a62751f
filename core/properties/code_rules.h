// Checks of rules that every position code should follow: neighbours are close,
// a code does not depend on the length of the sequence, every length has codes,
// and the same position always has the same code. Biases are checked at
// distances instead of positions.
#pragma once

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

// The codes of neighbouring positions are close, compared with the distance
// between the farthest codes.
CheckOutcome Smoothness(const Scheme& scheme);
// A position has the same code in sequences of any length.
CheckOutcome LengthIndependence(const Scheme& scheme);
// The last position of a sequence of any length has a code of its own.
CheckOutcome OpenEndedness(const Scheme& scheme);
// A position has the same code each time it is computed, bit by bit.
CheckOutcome Determinism(const Scheme& scheme);

}  // namespace locus
