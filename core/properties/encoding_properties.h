// The properties that show in a scheme's own numbers.
#pragma once

#include <optional>

#include "core/encoding/scheme.h"
#include "core/properties/property_case.h"

namespace locus {

Outcome LinearShift(const Scheme& scheme);
Outcome RelativeRotation(const Scheme& scheme);
Outcome NormPreservation(const Scheme& scheme);
Outcome Boundedness(const Scheme& scheme);
Outcome Uniqueness(const Scheme& scheme);
Outcome MonotonicDecay(const Scheme& scheme);

// Of a bias with slopes; nothing of any other scheme.
std::optional<Outcome> SlopesGeometric(const Scheme& scheme);
// Of an additive code; nothing of any other scheme.
std::optional<Outcome> WorkedDotProducts(const Scheme& scheme);

// The rules that naive encodings break.
Outcome LengthIndependence(const Scheme& scheme);
Outcome Smoothness(const Scheme& scheme);
Outcome OpenEndedness(const Scheme& scheme);

}  // namespace locus
