// Figures that consist of several charts.
#pragma once

#include <string>
#include <vector>

#include "client/plot/legend.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

struct Figure {
  std::string title;
  std::string note;
  std::string description;
  // Drawn below the note; empty for none.
  std::vector<LegendEntry> legend = {};
  // Drawn row by row. Panels of one column are aligned at the left, panels of
  // one row at the top.
  std::vector<Scene> panels;
  int columns = 1;
};

// Draws the panels below a common title. Equal panels give small multiples
// (Tufte, "The Visual Display of Quantitative Information", 1983).
Scene Compose(const Figure& figure);

// Returns the number of columns, at most `max_columns`, that leaves the fewest
// empty places in a grid of `count` panels; the wider grid if several do.
int BalancedColumns(int count, int max_columns);

}  // namespace locus::client::plot
