#include "client/cli/render/position_codes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"

namespace locus::client {

absl::StatusOr<Codes> TableCodes(const v1::Tensor& table) {
  Codes codes;
  CLIENT_ASSIGN_OR_RETURN(codes.values, ToDoubles(table));
  if (table.shape_size() != 2) {
    return absl::InternalError(absl::StrCat(
        "the table sent by the server has shape ", ShapeName(table)));
  }
  codes.count = table.shape(0);
  codes.width = table.shape(1);
  return codes;
}

// The pair (1, 1) rotated by an angle is (cos - sin, sin + cos). The inner
// product of two such pairs is twice that of their (cos, sin), so each code is
// the row of cosines followed by the row of sines. Each channel that is not
// rotated adds 1 to the inner product, hence 1/2 here; the last element
// accounts for all of them.
absl::StatusOr<Codes> RotatedOnes(const v1::RotationEncoding& rotation,
                                  int64_t dim) {
  CLIENT_ASSIGN_OR_RETURN(const Codes cos, TableCodes(rotation.cos()));
  CLIENT_ASSIGN_OR_RETURN(const Codes sin, TableCodes(rotation.sin()));
  if (sin.count != cos.count || sin.width != cos.width) {
    return absl::InternalError(absl::StrCat(
        "the cosines sent by the server have shape ", ShapeName(rotation.cos()),
        ", the sines ", ShapeName(rotation.sin())));
  }
  const auto rest =
      static_cast<double>(std::max<int64_t>(dim - 2 * cos.width, 0));
  Codes codes{.count = cos.count, .width = 2 * cos.width + 1};
  for (int64_t i = 0; i < cos.count; ++i) {
    const auto row = i * cos.width;
    codes.values.insert(codes.values.end(), cos.values.begin() + row,
                        cos.values.begin() + row + cos.width);
    codes.values.insert(codes.values.end(), sin.values.begin() + row,
                        sin.values.begin() + row + cos.width);
    codes.values.push_back(std::sqrt(rest / 2));
  }
  return codes;
}

absl::StatusOr<Codes> CodesOf(const ChartOptions& options,
                              const v1::EncodeResponse& response) {
  if (response.has_additive()) return TableCodes(response.additive().table());
  if (response.has_rotation()) {
    return RotatedOnes(response.rotation(), options.dim);
  }
  return NotApplicable(options, response, "position codes");
}

std::vector<plot::Heatmap> HeadPanels(const std::vector<double>& values,
                                      int64_t heads, int64_t rows,
                                      int64_t columns) {
  std::vector<plot::Heatmap> panels;
  for (int64_t head = 0; head < heads; ++head) {
    const auto begin = values.begin() + head * rows * columns;
    panels.push_back({.title = heads > 1 ? absl::StrCat("head ", head) : "",
                      .rows = rows,
                      .columns = columns,
                      .values = {begin, begin + rows * columns},
                      .row_ends = {0, static_cast<double>(rows) - 1},
                      .column_ends = {0, static_cast<double>(columns) - 1}});
  }
  return panels;
}

namespace {

// The codes with unit length; a code of zeros stays.
std::vector<double> Normalized(const Codes& codes) {
  std::vector<double> scaled = codes.values;
  for (int64_t i = 0; i < codes.count; ++i) {
    double* row = scaled.data() + i * codes.width;
    double sum = 0;
    for (int64_t c = 0; c < codes.width; ++c) sum += row[c] * row[c];
    for (int64_t c = 0; sum > 0 && c < codes.width; ++c) {
      row[c] /= std::sqrt(sum);
    }
  }
  return scaled;
}

// Adds the products of row `i` with every row to `products`.
void AppendProducts(const Codes& codes, const std::vector<double>& rows,
                    int64_t i, std::vector<double>& products) {
  for (int64_t j = 0; j < codes.count; ++j) {
    double sum = 0;
    for (int64_t c = 0; c < codes.width; ++c) {
      sum += rows[i * codes.width + c] * rows[j * codes.width + c];
    }
    products.push_back(sum);
  }
}

}  // namespace

std::vector<double> CosinesToFirst(const Codes& codes) {
  std::vector<double> cosines;
  if (codes.count > 0) AppendProducts(codes, Normalized(codes), 0, cosines);
  return cosines;
}

std::vector<double> Cosines(const Codes& codes) {
  const std::vector<double> rows = Normalized(codes);
  std::vector<double> cosines;
  cosines.reserve(codes.count * codes.count);
  for (int64_t i = 0; i < codes.count; ++i) {
    AppendProducts(codes, rows, i, cosines);
  }
  return cosines;
}

}  // namespace locus::client
