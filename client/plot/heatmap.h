// Matrices as colours: one, or many side by side with one colour bar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/plot/color_map.h"
#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

struct Heatmap {
  // Above the panel.
  std::string title;
  int64_t rows = 0;
  int64_t columns = 0;
  // [rows, columns]. What is not finite is shown as hidden.
  std::vector<double> values;
  // What the first and the last row and column stand for; axes are numbered by
  // them.
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
  // Unset: from the least to the largest; with zero for a diverging map.
  std::optional<Interval> range = std::nullopt;
  // Beside the colour bar.
  std::string value_label = "";
  std::string row_label = "";
  std::string column_label = "";
  // Instead of numbered axes: one for each row and column of every panel.
  std::vector<std::string> row_words = {};
  std::vector<std::string> column_words = {};
};

Scene DrawHeatmaps(const HeatmapGrid& grid);

// Blocks of rows and columns averaged until there are at most `size` of each.
Heatmap Shrunk(const Heatmap& heatmap, int64_t size);

}  // namespace locus::client::plot
