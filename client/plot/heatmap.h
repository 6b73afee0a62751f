// Heatmaps: one matrix, or several side by side with a common colour bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/plot/color_map.h"
#include "client/plot/frame.h"
#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

// One panel.
struct Heatmap {
  // Title above the panel, and a line of small text below the title.
  std::string title;
  std::string subtitle = "";
  int64_t rows = 0;
  int64_t columns = 0;
  // Values [rows, columns]. Values that are not finite are drawn as hidden.
  std::vector<double> values;
  // Coordinates of the first and last row and column, for numbered axes.
  Interval row_ends = {};
  Interval column_ends = {};
  // The number of each row and of each column, such as the ids of positions,
  // instead of the ends. They may be in any order.
  std::vector<int64_t> row_ids = {};
  std::vector<int64_t> column_ids = {};
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
  // Gives each panel its own range and colour bar instead, for panels whose
  // values differ by orders of magnitude.
  bool range_per_panel = false;
  // Label of the colour bar.
  std::string value_label = "";
  std::string row_label = "";
  std::string column_label = "";
  // Words that label the rows and columns of every panel. Numbers are used if
  // there are too many words for their size.
  std::vector<std::string> row_words = {};
  std::vector<std::string> column_words = {};
  double title_size = kTitleSize;
  // Width of the panels with numbers; 0 chooses it from the number of panels
  // per row.
  double panel_width = 0;
};

Scene DrawHeatmaps(const HeatmapGrid& grid);

// Returns the rows and columns within two ranges, from `low` up to, but not
// including, `high`. The ranges must lie within the heatmap.
struct IndexRange {
  int64_t low = 0;
  int64_t high = 0;
};
Heatmap Cropped(const Heatmap& heatmap, IndexRange rows, IndexRange columns);

// Reduces a heatmap to at most `size` rows and columns by averaging blocks.
Heatmap Shrunk(const Heatmap& heatmap, int64_t size);

}  // namespace locus::client::plot
