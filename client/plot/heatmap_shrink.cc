#include <algorithm>
#include <limits>

#include "client/plot/heatmap.h"

namespace locus::client::plot {
namespace {

// Keeps the numbers of the rows or columns within a range.
void Crop(IndexRange range, int64_t count, Interval& ends,
          std::vector<int64_t>& ids) {
  if (!ids.empty()) {
    ids = {ids.begin() + range.low, ids.begin() + range.high};
    return;
  }
  const double step =
      count > 1 ? (ends.high - ends.low) / static_cast<double>(count - 1) : 1;
  const double low = ends.low;
  ends = {low + step * static_cast<double>(range.low),
          low + step * static_cast<double>(range.high - 1)};
}

}  // namespace

Heatmap Cropped(const Heatmap& heatmap, IndexRange rows, IndexRange columns) {
  Heatmap part = heatmap;
  part.rows = rows.high - rows.low;
  part.columns = columns.high - columns.low;
  part.values.clear();
  for (int64_t row = rows.low; row < rows.high; ++row) {
    const auto begin = heatmap.values.begin() + row * heatmap.columns;
    part.values.insert(part.values.end(), begin + columns.low,
                       begin + columns.high);
  }
  Crop(rows, heatmap.rows, part.row_ends, part.row_ids);
  Crop(columns, heatmap.columns, part.column_ends, part.column_ids);
  return part;
}

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
