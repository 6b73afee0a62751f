// Colour maps of heatmaps.
#pragma once

#include "client/plot/scale.h"
#include "client/plot/scene.h"
#include "client/plot/theme.h"

namespace locus::client::plot {

enum class ColorMap {
  // Perceptually uniform from dark to bright (viridis), for values without
  // sign.
  kSequential,
  // Blue below zero, the colour of the paper at zero and red above, for signed
  // values. Zero is white in the light theme and black in the dark theme.
  kDiverging,
};

// Returns the colour at a position of the map from 0 to 1. Other positions are
// clamped.
Rgb ColorAt(ColorMap map, double position, Theme theme = Theme::kLight);

// Returns the colour at a position for both themes.
ThemedRgb ThemedColorAt(ColorMap map, double position);

// Returns the position of a value within a range, from 0 to 1; 0.5 if the range
// is empty.
double PositionInRange(double value, Interval range);

// Returns a text colour with sufficient contrast to the background.
Rgb ReadableOn(Rgb background);

}  // namespace locus::client::plot
