// The charts of an evaluation.
#pragma once

#include <string>
#include <vector>

#include "client/plot/heatmap.h"
#include "client/plot/line_chart.h"
#include "client/report/manifest.h"

namespace locus::client {

// A chart and its file name without extension.
struct NamedChart {
  std::string name;
  plot::LineChart chart;
};

// Returns a chart of each metric over the evaluation lengths, with the deciding
// metric first. If the manifest has buckets of positions, adds a chart over the
// positions within the longest text. Metrics without any finite value are
// omitted, and so are bits per byte beside the negative log-likelihood.
std::vector<NamedChart> ChartsOf(const Manifest& manifest);

// Returns the attention maps of the first seed, averaged over heads, with a row
// for each scheme and a column for each length. Weights are relative to uniform
// attention, so that maps of different lengths are comparable. INVALID_ARGUMENT
// if a map is malformed.
absl::StatusOr<plot::HeatmapGrid> AttentionMaps(
    const std::vector<v1::EvaluationCell>& cells, int64_t train_length);

}  // namespace locus::client
