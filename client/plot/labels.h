// Placement of labels without overlap.
#pragma once

#include <vector>

#include "client/plot/scale.h"

namespace locus::client::plot {

// Moves labels so that neighbours are at least `gap` apart, with the minimum
// sum of squared displacements. Keeps their order, and keeps them within `room`
// if they fit. Returns the new positions in the order of `wanted`.
//
// This is isotonic regression with the pool-adjacent-violators algorithm (Ayer
// et al., 1955).
std::vector<double> SeparateLabels(const std::vector<double>& wanted,
                                   double gap, Interval room);

}  // namespace locus::client::plot
