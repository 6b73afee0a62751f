// Legends of charts whose curves have no names of their own.
#pragma once

#include <string>
#include <vector>

#include "client/plot/scene.h"

namespace locus::client::plot {

// A name and the colour, dashes and marker of its curves.
struct LegendEntry {
  std::string name;
  int series = 0;
};

// Adds a legend to `shapes`, in rows from the left to `width`, below `y`.
// Returns the y coordinate below it; `y` if the legend is empty.
double AddLegend(const std::vector<LegendEntry>& legend, double width, double y,
                 std::vector<Shape>& shapes);

}  // namespace locus::client::plot
