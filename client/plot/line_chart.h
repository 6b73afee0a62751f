// Curves over an axis: extrapolation with its intervals, or waveforms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/plot/scale.h"
#include "client/plot/scene.h"

namespace locus::client::plot {

struct CurvePoint {
  double x = 0;
  double y = 0;
  // The interval around y; equal to it if there is none.
  double low = 0;
  double high = 0;
};

struct Curve {
  std::string name;
  // By x, ascending. What is not finite leaves a gap.
  std::vector<CurvePoint> points;
  // Which colour, dashes and markers; the same scheme keeps its own throughout
  // a report.
  int series = 0;
  // Pale: shown, but not compared.
  bool pale = false;
};

struct LineChart {
  std::string title;
  // Below the title.
  std::string note;
  std::string description;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;

  // Ticks; empty: chosen.
  std::vector<double> x_ticks = {};
  bool log_x = false;
  bool log_y = false;
  // Whether points have markers, and lines dashes, to be told apart by.
  bool markers = true;
  // Both ends of the y axis; unset: what the curves take.
  std::optional<Interval> y_range = std::nullopt;
  // From here on the paper is tinted, and a label says why.
  std::optional<double> marked_x = std::nullopt;
  std::string marked_label = "";
  // A horizontal line, such as chance.
  std::optional<double> reference = std::nullopt;
  std::string reference_label = "";

  double width = 760;
  double height = 430;
};

Scene DrawLineChart(const LineChart& chart);

}  // namespace locus::client::plot
