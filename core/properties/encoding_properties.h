// Checks of the properties that can be measured on a scheme's own codes,
// rotations and biases, without an attention layer.
#pragma once

#include <optional>

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

// PE(p + k) = M_k PE(p), with a matrix M_k that does not depend on p.
CheckOutcome LinearShift(const Scheme& scheme);
// The score of a rotated query and a rotated key depends on the difference of
// their positions only.
CheckOutcome RelativeRotation(const Scheme& scheme);
// Rotations do not change the norm of a vector.
CheckOutcome NormPreservation(const Scheme& scheme);
// Codes, rotated vectors and biases do not grow with the position.
CheckOutcome Boundedness(const Scheme& scheme);
// No two positions share a code, and no two distances share their biases.
CheckOutcome Uniqueness(const Scheme& scheme);
// Similarity, score or bias falls with every step away from a position.
CheckOutcome MonotonicDecay(const Scheme& scheme);

// The slopes of a bias form a geometric series (Press et al., 2022). Returns
// nullopt for schemes other than biases with slopes.
std::optional<CheckOutcome> SlopesGeometric(const Scheme& scheme);
// The dot product of two codes depends on their distance only. Returns nullopt
// for schemes other than additive codes.
std::optional<CheckOutcome> WorkedDotProducts(const Scheme& scheme);

}  // namespace locus
