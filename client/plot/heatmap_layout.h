// Where the panels of a grid of heatmaps go.
#pragma once

#include "client/plot/heatmap.h"

namespace locus::client::plot {

struct HeatmapLayout {
  // Of the first panel, and of each.
  Point first;
  double panel_width = 0;
  double panel_height = 0;
  // From one panel to the next.
  double step_x = 0;
  double step_y = 0;
  int rows = 0;
  bool numbered = false;
  // Whether the words above columns have to lean, and the room they take.
  bool leaning = false;
  double above_words = 0;

  double bar_x = 0;
  double bar_height = 0;
  double width = 0;
  double height = 0;

  Point Corner(int panel, int panels_per_row) const {
    const int row = panel / panels_per_row;
    const int column = panel % panels_per_row;
    return {first.x + step_x * column, first.y + step_y * row};
  }
};

inline constexpr double kHeatmapTickSize = 11;
inline constexpr double kHeatmapWordSize = 12;
inline constexpr double kHeatmapTitleSize = 12.5;

// `bar_labels` is how wide the numbers beside the colour bar are.
HeatmapLayout LayOutHeatmaps(const HeatmapGrid& grid, double bar_labels);

}  // namespace locus::client::plot
