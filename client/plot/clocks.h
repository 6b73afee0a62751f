// Pairs of channels as clocks: a unit vector that turns with the position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/plot/scene.h"

namespace locus::client::plot {

// One pair of channels.
struct Clock {
  std::string title;
  // Lines below the clock.
  std::vector<std::string> captions = {};
  // Angle between consecutive positions, at the positions that are drawn and at
  // the target length.
  double radians_per_position = 0;
  // Angle at the end of the training length, and at the target length; 0 if
  // unknown.
  double trained_radians = 0;
  double target_radians = 0;
};

struct ClockGrid {
  std::string title;
  std::string note;
  std::string description;
  std::vector<Clock> clocks;
  int clocks_per_row = 4;
  // A hand is drawn for each position; the last one is the strongest.
  std::vector<int64_t> positions;
  // Labels of the shaded angles in the legend; empty if there are none.
  std::string trained_label = "";
  std::string target_label = "";
};

// Draws clocks that turn counterclockwise from the right. Angles within the
// training length are shaded, and so are those between the training length and
// the target length that training never covered; a line marks the target
// length.
Scene DrawClocks(const ClockGrid& grid);

}  // namespace locus::client::plot
