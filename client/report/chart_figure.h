// Charts within a page: a drawing for readers without scripts, a legend, and
// the data from which the script of the page draws the chart again.
#pragma once

#include <string>
#include <vector>

#include "client/plot/line_chart.h"

namespace locus::client {

struct ChartFigure {
  // Name of downloaded files without extension, and the id of the figure after
  // "chart-".
  std::string name;
  // Title, note, axes and curves. The title and the note are written as HTML
  // above the drawing.
  plot::LineChart chart;

  enum class Shape {
    kLines,
    // A histogram: each point is the left end of a bin and its value. The last
    // point ends the last bin.
    kSteps,
    // Markers without lines.
    kDots,
  };
  Shape shape = Shape::kLines;

  // A unit of the y axis, as a multiple of the values in `chart`.
  struct Unit {
    std::string name;
    double factor = 1;
  };
  // Two units to choose from, with the unit of `chart` first; otherwise empty.
  std::vector<Unit> units = {};
  // Values of single seeds for each curve, in the order of the curves; may be
  // empty.
  std::vector<std::vector<plot::Point>> seeds = {};
  // Unit of x in the box with the values under the pointer; default: the label
  // of the axis.
  std::string x_unit = "";
  // A small chart without a legend, for small multiples.
  bool small = false;
};

// Returns the figure element.
std::string FigureHtml(const ChartFigure& figure);

// Returns figures side by side, as many as fit.
std::string SmallMultiples(const std::vector<ChartFigure>& figures);

}  // namespace locus::client
