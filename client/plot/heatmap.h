// Heatmaps: one matrix, or several side by side with a common colour bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/plot/color_map.h"
#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

// One panel.
struct Heatmap {
  // Title above the panel.
  std::string title;
  int64_t rows = 0;
  int64_t columns = 0;
  // Values [rows, columns]. Values that are not finite are drawn as hidden.
  std::vector<double> values;
  // Coordinates of the first and last row and column, for numbered axes.
  Interval row_ends = {};
  Interval column_ends = {};
};

struct HeatmapGrid {
  std::string title;
  std::string note;
  std::string description;
  std::vector<Heatmap> panels;
  int panels_per_row = 1;

  ColorMap map = ColorMap::kSequential;
  // Range of the colour map; unset uses the minimum and maximum of the values,
  // extended to 0 for a diverging map.
  std::optional<Interval> range = std::nullopt;
  // Label of the colour bar.
  std::string value_label = "";
  std::string row_label = "";
  std::string column_label = "";
  // Words that label the rows and columns of every panel instead of numbers.
  std::vector<std::string> row_words = {};
  std::vector<std::string> column_words = {};
};

Scene DrawHeatmaps(const HeatmapGrid& grid);

// Reduces a heatmap to at most `size` rows and columns by averaging blocks.
Heatmap Shrunk(const Heatmap& heatmap, int64_t size);

}  // namespace locus::client::plot
