// Ticks of the numbered axes of heatmaps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/plot/scale.h"

namespace locus::client::plot {

// A labelled row or column. The index may lie between two rows if an image of
// fewer rows represents them.
struct IndexTick {
  double index = 0;
  std::string label;
};

// Returns about `max_count` ticks of an axis with `count` rows or columns. Its
// numbers are `ids`, or equidistant between the ends if `ids` is empty.
// Consecutive numbers have ticks at round numbers; others at every n-th row or
// column. All labels are integers.
std::vector<IndexTick> IndexTicks(const std::vector<int64_t>& ids,
                                  Interval ends, int64_t count, int max_count);

// Returns the number of a row or column.
int64_t IdOf(const std::vector<int64_t>& ids, Interval ends, int64_t count,
             int64_t index);

}  // namespace locus::client::plot
