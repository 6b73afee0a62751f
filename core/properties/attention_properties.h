// Checks of the properties that show in the outputs and weights of a whole
// attention layer.
#pragma once

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

// Permuting the tokens, but not their positions, permutes the outputs alike. A
// causal scheme is checked on its last query only, since a causal mask breaks
// the property by itself.
CheckOutcome PermutationEquivariance(const Scheme& scheme);
// Permuting the tokens together with their positions permutes the outputs
// alike.
CheckOutcome JointEquivariance(const Scheme& scheme);
// Adding a constant to all positions does not change the attention weights.
CheckOutcome ShiftInvariance(const Scheme& scheme);
// The outputs do not grow with the position. Used for Boundedness() of schemes
// that have neither codes nor rotations nor biases.
CheckOutcome LayerBoundedness(const Scheme& scheme);

}  // namespace locus
