// The charts of an evaluation.
#pragma once

#include <string>
#include <vector>

#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/report/manifest.h"

namespace locus::client {

// A chart and what its file is called, without the ending.
struct NamedChart {
  std::string name;
  plot::LineChart chart;
};

// One for each metric over the lengths, the deciding one first, and one over
// the positions within the longest text if positions were told apart. Metrics
// that are nowhere finite have none.
std::vector<NamedChart> ChartsOf(const Manifest& manifest);

// Attention maps, a row for each scheme and a column for each length, averaged
// over heads, of the first seed. Weights are multiples of what even attention
// would give, since at twice the length an even share is half as large.
// INVALID_ARGUMENT if a map is malformed.
absl::StatusOr<plot::HeatmapGrid> AttentionMaps(
    const std::vector<v1::EvaluationCell>& cells, int64_t train_length);

}  // namespace locus::client
