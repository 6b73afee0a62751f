#include "client/cli/render/code_products.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/status_macros.h"
#include "client/cli/render/position_codes.h"
#include "client/cli/render/table.h"
#include "client/cli/requests/positions.h"
#include "nlohmann/json.hpp"

namespace locus::client {
namespace {

constexpr int64_t kMaxShiftedPosition = int64_t{1} << 53;

RealMatrix DotProductsOf(const Codes& codes, double factor) {
  RealMatrix products{.rows = codes.count, .columns = codes.count};
  for (int64_t a = 0; a < codes.count; ++a) {
    for (int64_t b = 0; b < codes.count; ++b) {
      double sum = 0;
      for (int64_t c = 0; c < codes.width; ++c) {
        sum += codes.values[a * codes.width + c] *
               codes.values[b * codes.width + c];
      }
      products.values.push_back(factor * sum);
    }
  }
  return products;
}

// The columns of the two numbers of pair n, and the codes that hold them.
struct PairedCodes {
  Codes codes;
  std::vector<std::pair<int64_t, int64_t>> columns;
  std::string name;
};

// Sines and cosines are neighbours in an interleaved table; otherwise all sines
// come first. An odd last column has a sine only and belongs to no pair.
absl::StatusOr<PairedCodes> PairedTable(const v1::EncodeRequest& request,
                                        const v1::AdditiveEncoding& additive) {
  PairedCodes paired{.name = "sin, cos"};
  CLIENT_ASSIGN_OR_RETURN(paired.codes, TableCodes(additive.table()));
  const v1::SinusoidalLayout layout = request.scheme().sinusoidal().layout();
  const bool interleaved = layout == v1::SINUSOIDAL_LAYOUT_UNSPECIFIED ||
                           layout == v1::SINUSOIDAL_LAYOUT_INTERLEAVED;
  const int64_t sines = additive.frequencies_size();
  for (int64_t n = 0; n < sines; ++n) {
    const int64_t sine = interleaved ? 2 * n : n;
    const int64_t cosine = interleaved ? 2 * n + 1 : sines + n;
    if (cosine < paired.codes.width) paired.columns.push_back({sine, cosine});
  }
  return paired;
}

absl::StatusOr<PairedCodes> PairedRotation(
    const v1::RotationEncoding& rotation) {
  PairedCodes paired{.name = "cos, sin"};
  CLIENT_ASSIGN_OR_RETURN(const Codes cos, TableCodes(rotation.cos()));
  CLIENT_ASSIGN_OR_RETURN(const Codes sin, TableCodes(rotation.sin()));
  if (sin.count != cos.count || sin.width != cos.width) {
    return absl::InternalError("cosines and sines differ in shape");
  }
  paired.codes.count = cos.count;
  paired.codes.width = 2 * cos.width;
  for (int64_t p = 0; p < cos.count; ++p) {
    for (const Codes* half : {&cos, &sin}) {
      const auto row = half->values.begin() + p * half->width;
      paired.codes.values.insert(paired.codes.values.end(), row,
                                 row + half->width);
    }
  }
  for (int64_t n = 0; n < cos.width; ++n) {
    paired.columns.push_back({n, cos.width + n});
  }
  return paired;
}

// The sine and cosine of (p + K) w are a rotation of those of p w. `factor` is
// the decay over K positions.
ShiftBlock BlockOf(double frequency, double factor, bool sine_first,
                   int64_t shift) {
  const double angle = frequency * static_cast<double>(shift);
  const double c = factor * std::cos(angle);
  const double s = factor * (sine_first ? std::sin(angle) : -std::sin(angle));
  return {.frequency = frequency, .block = {{c, s}, {-s, c}}};
}

double MaxErrorOf(const PairedCodes& paired,
                  const std::vector<ShiftBlock>& blocks, int64_t count) {
  const Codes& codes = paired.codes;
  double largest = 0;
  for (int64_t p = 0; p < count; ++p) {
    const double* before = codes.values.data() + p * codes.width;
    const double* after = codes.values.data() + (count + p) * codes.width;
    for (size_t n = 0; n < paired.columns.size(); ++n) {
      const auto& [first, second] = paired.columns[n];
      const auto& block = blocks[n].block;
      for (int row = 0; row < 2; ++row) {
        const double expected =
            block[row][0] * before[first] + block[row][1] * before[second];
        const double error =
            std::abs(after[row == 0 ? first : second] - expected);
        // The comparison is false for NaN, which is kept.
        if (!(error <= largest)) largest = error;
      }
    }
  }
  return largest;
}

}  // namespace

absl::StatusOr<GramMatrices> GramOf(const v1::EncodeResponse& response,
                                    int64_t dim) {
  if (!response.has_additive() && !response.has_rotation()) {
    return absl::InvalidArgumentError(
        "needs a scheme with a code per position, such as sinusoidal, learned "
        "or rope");
  }
  CLIENT_ASSIGN_OR_RETURN(const Codes codes,
                          response.has_additive()
                              ? TableCodes(response.additive().table())
                              : RotatedOnes(response.rotation(), dim));
  // RotatedOnes() has half of the dot products of rotated vectors of ones.
  const double factor = response.has_additive() ? 1 : 2;
  return GramMatrices{.dot_products = DotProductsOf(codes, factor),
                      .cosines = {codes.count, codes.count, Cosines(codes)}};
}

std::string FormatGram(const GramMatrices& gram,
                       const std::vector<int64_t>& positions, int width) {
  const auto label = [&positions](int64_t n) {
    return absl::StrCat(positions[n]);
  };
  return absl::StrCat(FormatMatrix({.title = "dot products of the codes",
                                    .row_label = label,
                                    .column_label = label,
                                    .decimals = 7,
                                    .width = width},
                                   gram.dot_products),
                      "\n",
                      FormatMatrix({.title = "cosines of the codes",
                                    .row_label = label,
                                    .column_label = label,
                                    .decimals = 7,
                                    .width = width},
                                   gram.cosines));
}

nlohmann::ordered_json GramJson(const GramMatrices& gram,
                                const std::vector<int64_t>& positions) {
  return {{"positions", positions},
          {"dot_products", gram.dot_products.values},
          {"cosines", gram.cosines.values}};
}

absl::StatusOr<v1::Positions> ShiftedPositions(const v1::Positions& positions,
                                               int64_t shift) {
  v1::Positions both;
  auto& values = *both.mutable_ids()->mutable_ids();
  const int64_t count = PositionCount(positions);
  for (const int64_t added : {int64_t{0}, shift}) {
    for (int64_t n = 0; n < count; ++n) {
      const int64_t position = PositionAt(positions, n) + added;
      if (position < 0 || position > kMaxShiftedPosition) {
        return absl::InvalidArgumentError(
            absl::StrCat("is ", shift, ", which moves position ",
                         PositionAt(positions, n), " to ", position));
      }
      values.Add(position);
    }
  }
  return both;
}

absl::StatusOr<ShiftMatrix> ShiftMatrixOf(const v1::EncodeRequest& request,
                                          const v1::EncodeResponse& response,
                                          int64_t shift) {
  const bool is_table = response.has_additive();
  const auto& frequencies = is_table ? response.additive().frequencies()
                                     : response.rotation().frequencies();
  if (frequencies.empty()) {
    return absl::InvalidArgumentError(
        "needs a scheme of sines and cosines, such as sinusoidal or rope");
  }
  CLIENT_ASSIGN_OR_RETURN(const PairedCodes paired,
                          is_table ? PairedTable(request, response.additive())
                                   : PairedRotation(response.rotation()));
  ShiftMatrix matrix{.shift = shift,
                     .pair_name = paired.name,
                     .position_count = paired.codes.count / 2};
  const auto& decays = response.rotation().decays();
  for (size_t n = 0; n < paired.columns.size(); ++n) {
    const int index = static_cast<int>(n);
    const double factor =
        index < decays.size()
            ? std::pow(decays[index], static_cast<double>(shift))
            : 1;
    matrix.blocks.push_back(
        BlockOf(frequencies[index], factor, is_table, shift));
  }
  matrix.max_error = MaxErrorOf(paired, matrix.blocks, matrix.position_count);
  return matrix;
}

std::string FormatShiftMatrix(const ShiftMatrix& matrix) {
  const auto number = [](double value) {
    return absl::StrFormat("%9.6f", value + 0.0);
  };
  std::vector<std::vector<std::string>> rows = {
      {"PAIR", "FREQUENCY",
       absl::StrCat("BLOCK OF M_", matrix.shift, " (", matrix.pair_name, ")")}};
  for (size_t n = 0; n < matrix.blocks.size(); ++n) {
    const ShiftBlock& block = matrix.blocks[n];
    for (int row = 0; row < 2; ++row) {
      rows.push_back({row == 0 ? absl::StrCat(n) : "",
                      row == 0 ? absl::StrFormat("%.6g", block.frequency) : "",
                      absl::StrCat(number(block.block[row][0]), "  ",
                                   number(block.block[row][1]))});
    }
  }
  return absl::StrCat("PE(p + ", matrix.shift, ") = M_", matrix.shift,
                      " PE(p)\n\n", FormatRows(rows), "\nlargest error at ",
                      matrix.position_count, " positions  ",
                      TwoDigits(matrix.max_error), "\n");
}

nlohmann::ordered_json ShiftMatrixJson(const ShiftMatrix& matrix) {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array();
  for (const ShiftBlock& block : matrix.blocks) {
    blocks.push_back({{"frequency", block.frequency},
                      {"block",
                       {{block.block[0][0], block.block[0][1]},
                        {block.block[1][0], block.block[1][1]}}}});
  }
  return {{"shift", matrix.shift},
          {"pair", matrix.pair_name},
          {"blocks", blocks},
          {"positions", matrix.position_count},
          {"max_error", matrix.max_error}};
}

}  // namespace locus::client
