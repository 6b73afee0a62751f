// Charts of channels, wavelengths and angles over the positions. Several
// schemes can share a chart. All tensors must have passed CheckTensor().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/chart_options.h"
#include "client/plot/line_chart.h"
#include "client/plot/scene.h"
#include "client/plot/strips.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// Channels of tables over the positions, in a strip for each channel or, for
// rotations, the cosine and sine of pairs. If `channels` is empty, a few
// channels from the fastest to the slowest are drawn. Several schemes must be
// of one kind, have a curve each in every strip, and show the cosine only.
absl::StatusOr<plot::StripChart> WaveformStrips(
    const std::vector<ChartScheme>& schemes,
    const std::vector<int64_t>& channels);

// WaveformStrips() of one scheme, drawn.
absl::StatusOr<plot::Scene> WaveformChart(const ChartOptions& options,
                                          const v1::EncodeResponse& response,
                                          const std::vector<int64_t>& channels);

// The cosine between the code of the first position and the codes of all
// positions, over the distance, with a curve for each scheme.
absl::StatusOr<plot::Scene> DecayChart(const ChartOptions& options,
                                       const std::vector<ChartScheme>& schemes);

// The wavelengths of the pairs of a scheme, in positions.
struct WavelengthCurve {
  std::string name;
  std::vector<double> wavelengths;
};

// The wavelengths of the pairs, with a curve for each scheme, and lines at the
// trained and the target length. Pairs above a line do not complete a turn
// within that length. A length of 0 is unknown.
plot::LineChart WavelengthLines(const std::string& title,
                                const std::string& note,
                                const std::vector<WavelengthCurve>& curves,
                                double trained_length, double target_length);

// WavelengthLines() of several schemes, drawn. One scheme with a scaling has a
// second curve without it.
absl::StatusOr<plot::Scene> WavelengthChart(
    const ChartOptions& options, const std::vector<ChartScheme>& schemes);

// Pairs as clocks whose hand turns with the position; see plot::DrawClocks().
// If `pairs` is empty, a few pairs from the fastest to the slowest are drawn.
absl::StatusOr<plot::Scene> ClockChart(const ChartOptions& options,
                                       const v1::EncodeResponse& response,
                                       const std::vector<int64_t>& pairs);

}  // namespace locus::client
