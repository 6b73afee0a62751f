// Title, axes and grid of a chart.
#pragma once

#include <string>
#include <vector>

#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

// Size of the title of a chart, and of the smaller title of a panel.
inline constexpr double kTitleSize = 16;
inline constexpr double kPanelTitleSize = 12.5;
// Space between the edge of a chart and its texts.
inline constexpr double kChartMargin = 16;

struct FrameOptions {
  std::string title;
  std::string note;
  std::string x_label;
  std::string y_label;
  Interval x_range;
  Interval y_range;
  // Ticks of the x axis; empty chooses them automatically.
  std::vector<double> x_ticks = {};
  // Labels of `x_ticks`; empty formats the numbers.
  std::vector<std::string> x_tick_labels = {};
  bool log_x = false;
  bool log_y = false;
  // Space to the right of the axes, and above the highest value.
  double right = 20;
  double headroom = 0;
  double width = 760;
  double height = 430;
  double title_size = kTitleSize;
};

// The rectangle of the curves. y grows downwards, so low_y is the upper edge.
struct Area {
  double low_x = 0;
  double high_x = 0;
  double low_y = 0;
  double high_y = 0;
};

// The area, scales and shapes of a chart without its curves.
struct Frame {
  Area area;
  Scale x;
  Scale y;
  std::vector<Shape> shapes;
};

Frame MakeFrame(const FrameOptions& options);

// Adds the title and the note at the top left of a chart to `shapes`. Long
// lines are wrapped, and a line break in the note is kept. Returns the y
// coordinate below them.
double AddHeading(const std::string& title, const std::string& note,
                  double width, std::vector<Shape>& shapes,
                  double title_size = kTitleSize);

}  // namespace locus::client::plot
