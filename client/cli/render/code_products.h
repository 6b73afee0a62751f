// `encode --gram` and `encode --shift-matrix`: dot products of position codes,
// and the matrix that shifts a code by K positions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/render/matrix.h"
#include "locus/v1/encoding.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace locus::client {

// Dot products and cosines of the codes of every two positions. The code of a
// position is its row of the table or, for a rotation, a vector of ones rotated
// for that position.
struct GramMatrices {
  RealMatrix dot_products;
  RealMatrix cosines;
};
// INVALID_ARGUMENT if the scheme has no codes. `dim` is the width of a head,
// for rotations.
absl::StatusOr<GramMatrices> GramOf(const v1::EncodeResponse& response,
                                    int64_t dim);
// `positions` label rows and columns.
std::string FormatGram(const GramMatrices& gram,
                       const std::vector<int64_t>& positions, int width);
nlohmann::ordered_json GramJson(const GramMatrices& gram,
                                const std::vector<int64_t>& positions);

// One 2 x 2 block of the matrix M_K with PE(p + K) = M_K PE(p), for the sine
// and cosine of one frequency, or for the cosine and sine of one pair of a
// rotation.
struct ShiftBlock {
  double frequency = 0;
  double block[2][2] = {};
};
struct ShiftMatrix {
  int64_t shift = 0;
  std::vector<ShiftBlock> blocks;
  // Order of the two numbers of a block: "sin, cos" or "cos, sin".
  std::string pair_name;
  // Number of positions p at which the equation was checked, and the largest
  // difference of its two sides.
  int64_t position_count = 0;
  double max_error = 0;
};
// Computes M_K from the frequencies of the scheme, and checks it on its codes.
// `request` has the positions p followed by the positions p + K, in this order.
// INVALID_ARGUMENT if the scheme has no frequencies.
absl::StatusOr<ShiftMatrix> ShiftMatrixOf(const v1::EncodeRequest& request,
                                          const v1::EncodeResponse& response,
                                          int64_t shift);
// The positions p and p + K for ShiftMatrixOf(). INVALID_ARGUMENT if one of
// them is negative or exceeds 2^53.
absl::StatusOr<v1::Positions> ShiftedPositions(const v1::Positions& positions,
                                               int64_t shift);
std::string FormatShiftMatrix(const ShiftMatrix& matrix);
nlohmann::ordered_json ShiftMatrixJson(const ShiftMatrix& matrix);

}  // namespace locus::client
