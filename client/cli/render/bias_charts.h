// Charts of the bias that a scheme adds to the scores. All tensors must have
// passed CheckTensor().
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/chart_options.h"
#include "client/plot/scene.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// Heatmaps of the bias, one per head, each with its own colour scale: the
// slopes of ALiBi differ by a factor of 128. The parameters of a head are below
// its title. Below the maps, the bias of one query is drawn over the keys for
// all heads, and the factor exp(bias) on its attention weights.
//
// Returns a usage error that names the applicable charts if the scheme has no
// bias.
absl::StatusOr<plot::Scene> BiasChart(const ChartOptions& options,
                                      const v1::EncodeResponse& response);

// The bias of one query over the keys for several schemes, with a strip for
// each head that all schemes have.
absl::StatusOr<plot::Scene> BiasOverlay(
    const ChartOptions& options, const std::vector<ChartScheme>& schemes);

}  // namespace locus::client
