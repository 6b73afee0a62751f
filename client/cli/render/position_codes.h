// Position codes of a scheme and their similarity.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
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

// The cosine between every two codes, [count, count].
std::vector<double> Cosines(const Codes& codes);

}  // namespace locus::client
