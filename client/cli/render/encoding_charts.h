// Heatmaps of `locus plot`, drawn from the responses of Encode and Attend.
//
// Each function returns a usage error that names the applicable charts if the
// scheme has no data for this one. All tensors must have passed CheckTensor().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/chart_options.h"
#include "client/plot/scene.h"
#include "locus/v1/attention.pb.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// Heatmap of the table that is added to the embeddings. Rows are positions,
// columns are channels.
absl::StatusOr<plot::Scene> HeatmapChart(const ChartOptions& options,
                                         const v1::EncodeResponse& response);

// Heatmap of the cosine between the codes of every two positions. The code of a
// position is its row of the table or, for schemes that rotate queries and
// keys, a vector of ones rotated for that position. The chart then shows the
// score of equal content at every distance.
absl::StatusOr<plot::Scene> SimilarityChart(const ChartOptions& options,
                                            const v1::EncodeResponse& response);

// Table, similarity and waveforms of a scheme that adds codes to the
// embeddings, side by side. `options.rows` and `options.columns` select the
// part of the table, and `channels` the waveforms.
absl::StatusOr<plot::Scene> TriptychChart(const ChartOptions& options,
                                          const v1::EncodeResponse& response,
                                          const std::vector<int64_t>& channels);

// Heatmaps of the attention weights among words, one per head. `weights` has
// the shape [1, H, T, T]. `attention` determines which keys are masked and
// drawn in grey, because the weight of a visible key can underflow to 0.
absl::StatusOr<plot::Scene> AttentionChart(
    const ChartOptions& options, const std::vector<std::string>& words,
    const v1::AttentionOptions& attention, const v1::Tensor& weights);

}  // namespace locus::client
