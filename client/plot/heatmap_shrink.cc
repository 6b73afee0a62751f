#include <algorithm>
#include <limits>

#include "client/plot/heatmap.h"

namespace locus::client::plot {

Heatmap Shrunk(const Heatmap& heatmap, int64_t size) {
  if (heatmap.rows <= size && heatmap.columns <= size) return heatmap;
  Heatmap small = heatmap;
  small.rows = std::min(heatmap.rows, size);
  small.columns = std::min(heatmap.columns, size);
  small.values.assign(small.rows * small.columns, 0);
  for (int64_t i = 0; i < small.rows; ++i) {
    for (int64_t j = 0; j < small.columns; ++j) {
      double sum = 0;
      int64_t count = 0;
      for (int64_t row = i * heatmap.rows / small.rows;
           row < (i + 1) * heatmap.rows / small.rows; ++row) {
        for (int64_t column = j * heatmap.columns / small.columns;
             column < (j + 1) * heatmap.columns / small.columns; ++column) {
          const double value = heatmap.values[row * heatmap.columns + column];
          if (!IsDrawable(value)) continue;
          sum += value;
          ++count;
        }
      }
      small.values[i * small.columns + j] =
          count > 0 ? sum / static_cast<double>(count)
                    : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return small;
}

}  // namespace locus::client::plot
