// The properties that show in what a whole attention layer does.
#pragma once

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

Outcome PermutationEquivariance(const Scheme& scheme);
Outcome JointEquivariance(const Scheme& scheme);
Outcome ShiftInvariance(const Scheme& scheme);
// Boundedness of a scheme that adds nothing anywhere.
Outcome LayerBoundedness(const Scheme& scheme);

}  // namespace locus
