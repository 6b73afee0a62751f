#include "client/cli/render/table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/base/printable.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

// An index that stands for the rows or columns that are left out.
constexpr int64_t kGap = -1;
constexpr absl::string_view kEllipsis = "...";
// Longer labels are cut, so that at least three columns fit in 80.
constexpr int kMaxLabelWidth = 16;

// The indices 0 .. count - 1, or the first and the last ones with kGap between
// them if there are more than `limit`.
std::vector<int64_t> Shown(int64_t count, int64_t limit) {
  std::vector<int64_t> indices;
  const int64_t last = count <= limit ? 0 : limit / 3;
  const int64_t first = count <= limit ? count : limit - last;
  for (int64_t i = 0; i < first; ++i) indices.push_back(i);
  if (count > limit) indices.push_back(kGap);
  for (int64_t i = count - last; i < count; ++i) indices.push_back(i);
  return indices;
}

// One number format for all elements of a table, so that a column can be
// compared by eye.
class NumberStyle {
 public:
  void Include(double value) {
    if (!std::isfinite(value)) return;
    largest_ = std::max(largest_, std::abs(value));
    all_integers_ &= value == std::trunc(value);
  }

  std::string Format(double value) const {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (all_integers_ && largest_ < 1e6) return absl::StrFormat("%.0f", value);
    if (largest_ >= 1e5 || largest_ < 1e-3) {
      return absl::StrFormat("%.3e", value);
    }
    // Print no negative zero.
    const std::string text = absl::StrFormat("%.4f", value);
    return text == "-0.0000" ? "0.0000" : text;
  }

 private:
  double largest_ = 0;
  bool all_integers_ = true;
};

std::string Label(const std::function<std::string(int64_t)>& label,
                  int64_t index) {
  if (index == kGap) return std::string(kEllipsis);
  if (!label) return absl::StrCat(index);
  const std::string text = PrintableLine(label(index));
  if (DisplayWidth(text) <= kMaxLabelWidth) return text;
  return absl::StrCat(PrefixOfWidth(text, kMaxLabelWidth - 1), "\xe2\x80\xa6");
}

// One matrix of a tensor. Its elements begin at index `offset`.
class Matrix {
 public:
  Matrix(const TensorTable& table, const v1::Tensor& tensor, int64_t offset,
         int64_t row_count, int64_t column_count)
      : table_(table),
        tensor_(tensor),
        offset_(offset),
        column_count_(column_count) {
    constexpr int64_t kMaxRows = 16;
    rows_ = Shown(row_count, kMaxRows);
    // Upper bound: a number takes at least one character and two spaces.
    columns_ = Shown(column_count, std::max(1, table.width / 3));
  }

  std::string Format() {
    for (const int64_t row : rows_) {
      for (const int64_t column : columns_) {
        if (row != kGap && column != kGap) style_.Include(At(row, column));
      }
    }
    int label_width = 0;
    for (const int64_t row : rows_) {
      label_width =
          std::max(label_width, DisplayWidth(Label(table_.row_label, row)));
    }
    const int cell_width = CellWidth();
    const int64_t fitting =
        std::max<int64_t>(3, (table_.width - label_width) / (cell_width + 2));
    // The gap takes the place of a column.
    columns_ =
        Shown(column_count_, column_count_ <= fitting ? fitting : fitting - 1);
    std::string text = std::string(label_width, ' ');
    for (const int64_t column : columns_) {
      absl::StrAppend(
          &text, "  ",
          PadLeft(Bold(Label(table_.column_label, column)), cell_width));
    }
    text.push_back('\n');
    for (const int64_t row : rows_) {
      absl::StrAppend(&text, FormatRow(row, label_width, cell_width), "\n");
    }
    return text;
  }

 private:
  double At(int64_t row, int64_t column) const {
    return ElementAt(tensor_, offset_ + row * column_count_ + column);
  }

  std::string Cell(int64_t row, int64_t column) const {
    if (row == kGap || column == kGap) return std::string(kEllipsis);
    return style_.Format(At(row, column));
  }

  int CellWidth() const {
    int width = 1;
    for (const int64_t column : columns_) {
      width = std::max(width, DisplayWidth(Label(table_.column_label, column)));
      for (const int64_t row : rows_) {
        width = std::max(width, DisplayWidth(Cell(row, column)));
      }
    }
    return width;
  }

  std::string FormatRow(int64_t row, int label_width, int cell_width) const {
    std::string text = PadRight(Label(table_.row_label, row), label_width);
    for (const int64_t column : columns_) {
      absl::StrAppend(&text, "  ", PadLeft(Cell(row, column), cell_width));
    }
    return text;
  }

  const TensorTable& table_;
  const v1::Tensor& tensor_;
  const int64_t offset_;
  const int64_t column_count_;
  std::vector<int64_t> rows_;
  std::vector<int64_t> columns_;
  NumberStyle style_;
};

// "title[1, 0]" for the matrix with the given number in row-major order.
std::string MatrixName(const std::string& title, const v1::Tensor& tensor,
                       int64_t number) {
  std::vector<int64_t> index;
  for (int axis = tensor.shape_size() - 3; axis >= 0; --axis) {
    index.insert(index.begin(), number % tensor.shape(axis));
    number /= tensor.shape(axis);
  }
  return absl::StrCat(title, "[", absl::StrJoin(index, ", "), "]");
}

}  // namespace

std::string FormatTensor(const TensorTable& table, const v1::Tensor& tensor) {
  std::string text =
      absl::StrCat(table.title, "  ", DataTypeName(tensor.dtype()), " ",
                   ShapeName(tensor), "\n");
  if (tensor.data().empty()) return text;
  const int rank = tensor.shape_size();
  const int64_t column_count = rank > 0 ? tensor.shape(rank - 1) : 1;
  const int64_t row_count = rank > 1 ? tensor.shape(rank - 2) : 1;
  const int64_t matrix_size = row_count * column_count;
  const int64_t matrix_count = static_cast<int64_t>(tensor.data().size()) /
                               ElementSize(tensor.dtype()) / matrix_size;
  constexpr int64_t kMaxMatrices = 4;
  for (int64_t i = 0; i < std::min(matrix_count, kMaxMatrices); ++i) {
    if (rank > 2) {
      absl::StrAppend(&text, i == 0 ? "" : "\n",
                      table.table_label ? table.table_label(i)
                                        : MatrixName(table.title, tensor, i),
                      "\n");
    }
    text += Matrix(table, tensor, i * matrix_size, row_count, column_count)
                .Format();
  }
  if (matrix_count > kMaxMatrices) {
    absl::StrAppend(&text, kEllipsis, " and ", matrix_count - kMaxMatrices,
                    " more\n");
  }
  return text;
}

std::string FormatList(const std::string& title,
                       const std::vector<double>& values, int width) {
  constexpr int64_t kMaxValues = 12;
  std::vector<std::string> parts;
  for (const int64_t i :
       Shown(static_cast<int64_t>(values.size()), kMaxValues)) {
    parts.push_back(i == kGap ? std::string(kEllipsis)
                              : absl::StrFormat("%.6g", values[i]));
  }
  const int indent = DisplayWidth(title) + 2;
  const std::string list =
      WrapParagraph(absl::StrJoin(parts, ", "), width, indent);
  return absl::StrCat(title, "  ", list.substr(indent));
}

}  // namespace locus::client
