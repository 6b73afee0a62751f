// Small matrices of real numbers, and their text.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// A matrix in row-major order.
struct RealMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> values;  // [rows, columns]

  double At(int64_t row, int64_t column) const {
    return values[row * columns + column];
  }
};

// The last two axes of a tensor. INVALID_ARGUMENT unless all axes before them
// have extent 1.
absl::StatusOr<RealMatrix> MatrixOf(const v1::Tensor& tensor);

// The rows in another order: row n of the result is row order[n] of `matrix`.
// Every element of `order` must be a row.
RealMatrix PermutedRows(const RealMatrix& matrix,
                        const std::vector<int64_t>& order);
// Element-wise difference of two matrices of the same shape.
RealMatrix Difference(const RealMatrix& a, const RealMatrix& b);
// Largest absolute value; NaN if an element is NaN, 0 without elements.
double MaxAbs(const RealMatrix& matrix);

// How to print a matrix.
struct MatrixText {
  std::string title = "";
  // Labels of rows and columns; default: their indices.
  std::function<std::string(int64_t)> row_label = nullptr;
  std::function<std::string(int64_t)> column_label = nullptr;
  // Number of digits after the point.
  int decimals = 4;
  // Width of the terminal. Columns that do not fit follow in a second block.
  int width = 80;
};
// The title and a table with labelled rows and columns, numbers aligned at the
// point.
std::string FormatMatrix(const MatrixText& text, const RealMatrix& matrix);

// A number with two digits in exponential form, such as "6.0e-08".
std::string TwoDigits(double value);

}  // namespace locus::client
