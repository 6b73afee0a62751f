// The codes that a scheme gives to positions, and how alike they are.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/encoding.pb.h"

namespace locus::client {

// Codes of positions, [count, width].
struct Codes {
  int64_t count = 0;
  int64_t width = 0;
  std::vector<double> values;
};

// The rows of a table, [count, width].
absl::StatusOr<Codes> TableCodes(const v1::Tensor& table);

// What becomes of a vector of `dim` ones at each position, up to lengths and
// angles: inner products are half of theirs. Channels past the rotated ones
// stay ones.
absl::StatusOr<Codes> RotatedOnes(const v1::RotationEncoding& rotation,
                                  int64_t dim);

// Between any two codes, [count, count].
std::vector<double> Cosines(const Codes& codes);

}  // namespace locus::client
