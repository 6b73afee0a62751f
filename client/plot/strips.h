// Curves in strips, one below the other, with a common x axis.
//
// Curves that oscillate, such as the channels of a position code, are
// unreadable in one frame. In strips each of them has its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/plot/frame.h"
#include "client/plot/legend.h"
#include "client/plot/line_chart.h"
#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

struct Strip {
  // Written at the right; the note is below the name.
  std::string name;
  std::string note = "";
  std::vector<Curve> curves;
  // Range of the y axis; unset chooses it from the curves.
  std::optional<Interval> y_range = std::nullopt;
};

struct StripChart {
  std::string title;
  std::string note;
  std::string description;
  std::string x_label;
  // Ticks of the x axis; empty chooses them automatically.
  std::vector<double> x_ticks = {};
  std::vector<Strip> strips;
  std::vector<LegendEntry> legend = {};
  // Draws markers at the points, for few points.
  bool markers = false;
  double width = 760;
  double strip_height = 66;
  double title_size = kTitleSize;
};

Scene DrawStrips(const StripChart& chart);

}  // namespace locus::client::plot
