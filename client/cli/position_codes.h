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

// What becomes of a vector of ones at each position, up to a factor.
absl::StatusOr<Codes> RotatedOnes(const v1::RotationEncoding& rotation);

// Between any two codes, [count, count].
std::vector<double> Cosines(const Codes& codes);

}  // namespace locus::client
