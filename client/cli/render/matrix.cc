#include "client/cli/render/matrix.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/base/printable.h"
#include "client/base/status_macros.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

// Number of characters of UTF-8 text, which is its width in the terminal for
// the labels of matrices.
size_t CharacterCount(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(),
                    [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string AlignRight(const std::string& text, size_t width) {
  const size_t count = CharacterCount(text);
  return std::string(width - std::min(width, count), ' ') + text;
}

std::vector<std::string> LabelsOf(
    const std::function<std::string(int64_t)>& label, int64_t count) {
  std::vector<std::string> labels;
  for (int64_t n = 0; n < count; ++n) {
    labels.push_back(label ? PrintableLine(label(n)) : absl::StrCat(n));
  }
  return labels;
}

// A number that rounds to zero has no sign.
std::string FixedPoint(double value, int decimals) {
  std::string text = absl::StrFormat("%.*f", decimals, value);
  const bool is_zero = std::isfinite(value) &&
                       text.find_first_of("123456789") == std::string::npos;
  return is_zero && text[0] == '-' ? text.substr(1) : text;
}

size_t WidestOf(const std::vector<std::string>& texts) {
  size_t widest = 0;
  for (const std::string& text : texts) {
    widest = std::max(widest, CharacterCount(text));
  }
  return widest;
}

}  // namespace

absl::StatusOr<RealMatrix> MatrixOf(const v1::Tensor& tensor) {
  RealMatrix matrix;
  CLIENT_ASSIGN_OR_RETURN(matrix.values, ToDoubles(tensor));
  const int axes = tensor.shape_size();
  for (int axis = 0; axis < axes - 2; ++axis) {
    if (tensor.shape(axis) == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of shape ", ShapeName(tensor),
                     " is not one matrix; use a batch of one"));
  }
  if (axes < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a tensor of shape ", ShapeName(tensor), " is not a matrix"));
  }
  matrix.rows = tensor.shape(axes - 2);
  matrix.columns = tensor.shape(axes - 1);
  return matrix;
}

RealMatrix PermutedRows(const RealMatrix& matrix,
                        const std::vector<int64_t>& order) {
  RealMatrix permuted{.rows = static_cast<int64_t>(order.size()),
                      .columns = matrix.columns};
  for (const int64_t row : order) {
    const auto begin = matrix.values.begin() + row * matrix.columns;
    permuted.values.insert(permuted.values.end(), begin,
                           begin + matrix.columns);
  }
  return permuted;
}

RealMatrix Difference(const RealMatrix& a, const RealMatrix& b) {
  RealMatrix difference = a;
  for (size_t n = 0; n < difference.values.size(); ++n) {
    difference.values[n] -= b.values[n];
  }
  return difference;
}

double MaxAbs(const RealMatrix& matrix) {
  double largest = 0;
  for (const double value : matrix.values) {
    if (std::isnan(value)) return value;
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

std::string FormatMatrix(const MatrixText& text, const RealMatrix& matrix) {
  const std::vector<std::string> rows = LabelsOf(text.row_label, matrix.rows);
  const std::vector<std::string> columns =
      LabelsOf(text.column_label, matrix.columns);
  std::vector<std::string> cells;
  for (const double value : matrix.values) {
    cells.push_back(FixedPoint(value, text.decimals));
  }
  const size_t label_width = WidestOf(rows);
  const size_t cell_width = 2 + std::max(WidestOf(cells), WidestOf(columns));
  const int64_t per_block =
      std::max<int64_t>(1, (text.width - static_cast<int64_t>(label_width)) /
                               static_cast<int64_t>(cell_width));
  std::string result = text.title.empty() ? "" : text.title + "\n";
  for (int64_t first = 0; first < matrix.columns; first += per_block) {
    const int64_t end = std::min(first + per_block, matrix.columns);
    result.append(label_width, ' ');
    for (int64_t column = first; column < end; ++column) {
      result += AlignRight(columns[column], cell_width);
    }
    result += "\n";
    for (int64_t row = 0; row < matrix.rows; ++row) {
      result += rows[row];
      result.append(label_width - CharacterCount(rows[row]), ' ');
      for (int64_t column = first; column < end; ++column) {
        result += AlignRight(cells[row * matrix.columns + column], cell_width);
      }
      result += "\n";
    }
  }
  return result;
}

std::string TwoDigits(double value) { return absl::StrFormat("%.1e", value); }

}  // namespace locus::client
