// Line charts, with optional confidence intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/plot/frame.h"
#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

struct CurvePoint {
  double x = 0;
  double y = 0;
  // Confidence interval of y; equal to y if there is none.
  double low = 0;
  double high = 0;
};

struct Curve {
  std::string name;
  // Points in increasing order of x. Points that are not finite leave a gap.
  std::vector<CurvePoint> points;
  // Index of the colour, dashes and markers. A scheme has the same index in all
  // charts of a report.
  int series = 0;
  // Single measurements drawn as dots, such as one per seed, in units of the
  // axes.
  std::vector<Point> dots = {};
  // Draws the curve in a pale colour, for schemes that are not compared.
  bool pale = false;
};

// A horizontal line, such as the training length.
struct ReferenceLine {
  double y = 0;
  std::string label;
};

struct LineChart {
  std::string title;
  // Text below the title.
  std::string note;
  std::string description;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;

  // Ticks of the x axis; empty chooses them automatically.
  std::vector<double> x_ticks = {};
  // Labels of `x_ticks`; empty formats the numbers.
  std::vector<std::string> x_tick_labels = {};
  bool log_x = false;
  bool log_y = false;
  // Draws markers at the points, to distinguish curves without colour.
  bool markers = true;
  // Range of the y axis; unset chooses it from the curves.
  std::optional<Interval> y_range = std::nullopt;
  // Shades the background from this x on, such as beyond the training length,
  // and labels the shaded part.
  std::optional<double> marked_x = std::nullopt;
  std::string marked_label = "";
  // A horizontal reference line, such as the chance level.
  std::optional<double> reference = std::nullopt;
  std::string reference_label = "";
  // Further horizontal lines.
  std::vector<ReferenceLine> references = {};
  // Writes the names of the curves and lines at the right. Panels of a figure
  // with a legend leave them out.
  bool names = true;

  double width = 760;
  double height = 430;
  double title_size = kTitleSize;
};

Scene DrawLineChart(const LineChart& chart);

}  // namespace locus::client::plot
