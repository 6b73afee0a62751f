// Labels side by side without touching.
#pragma once

#include <vector>

#include "client/plot/scale.h"

namespace locus::client::plot {

// Moves places apart until neighbours are at least `gap` from each other, each
// as little as possible, in the order they are in, and within `room` if they
// all fit into it. Returns the new places, in the order of the old ones.
std::vector<double> PushApart(const std::vector<double>& wanted, double gap,
                              Interval room);

}  // namespace locus::client::plot
