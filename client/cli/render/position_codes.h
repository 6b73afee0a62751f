// Position codes of a scheme and their similarity.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/chart_options.h"
#include "client/plot/heatmap.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// One code per position: a matrix [count, width] in row-major order.
struct Codes {
  int64_t count = 0;
  int64_t width = 0;
  std::vector<double> values;
};

// The rows of a table of shape [count, width].
absl::StatusOr<Codes> TableCodes(const v1::Tensor& table);

// Codes with the same cosines as a vector of `dim` ones rotated for each
// position; their inner products are half as large. Channels that the scheme
// does not rotate stay 1.
absl::StatusOr<Codes> RotatedOnes(const v1::RotationEncoding& rotation,
                                  int64_t dim);

// The codes of a table or a rotation. Returns a usage error that names the
// applicable charts for other schemes.
absl::StatusOr<Codes> CodesOf(const ChartOptions& options,
                              const v1::EncodeResponse& response);

// One panel per head. `values` has the shape [heads, rows, columns].
std::vector<plot::Heatmap> HeadPanels(const std::vector<double>& values,
                                      int64_t heads, int64_t rows,
                                      int64_t columns);

// The cosine between the first code and every code, [count].
std::vector<double> CosinesToFirst(const Codes& codes);

// The cosine between every two codes, [count, count].
std::vector<double> Cosines(const Codes& codes);

}  // namespace locus::client
