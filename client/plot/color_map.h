// From numbers to colours.
#pragma once

#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

enum class ColorMap {
  // Dark to bright, equal steps looking equal (viridis): for what has no sign.
  kSequential,
  // Blue below zero, white at zero, red above: for what has one.
  kDiverging,
};

// `share` from 0 to 1; what lies outside is taken as the nearer end.
Rgb ColorAt(ColorMap map, double share);

// Where on the map a value lies.
double ShareOf(double value, Interval range);

// Ink that can be read on that colour.
Rgb ReadableOn(Rgb background);

}  // namespace locus::client::plot
