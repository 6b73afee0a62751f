// Layout of the panels and the colour bar of a grid of heatmaps.
#pragma once

#include "client/plot/heatmap.h"

namespace locus::client::plot {

struct HeatmapLayout {
  // Upper left corner of the first panel, and the size of all panels.
  Point first;
  double panel_width = 0;
  double panel_height = 0;
  // Offset from one panel to the next.
  double step_x = 0;
  double step_y = 0;
  int rows = 0;
  // Whether the axes have words or numbers; neither if the panels are small.
  bool has_words = false;
  bool numbered = false;
  bool has_subtitles = false;
  // Baseline of the label of the rows, above the first panel.
  double row_label_y = 0;
  // Whether the words above the columns are rotated, and their height.
  bool rotated_words = false;
  double words_height = 0;

  double bar_x = 0;
  double bar_height = 0;
  double width = 0;
  double height = 0;

  // Returns the upper left corner of a panel.
  Point Corner(int panel, int panels_per_row) const {
    const int row = panel / panels_per_row;
    const int column = panel % panels_per_row;
    return {first.x + step_x * column, first.y + step_y * row};
  }
};

inline constexpr double kHeatmapTickSize = 11;
inline constexpr double kHeatmapWordSize = 12;
inline constexpr double kHeatmapTitleSize = 12.5;

// Computes the layout. `bar_labels` is the width of the labels of the colour
// bar or bars.
HeatmapLayout LayOutHeatmaps(const HeatmapGrid& grid, double bar_labels);

}  // namespace locus::client::plot
