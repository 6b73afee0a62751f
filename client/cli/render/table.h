// Text tables of tensors, and, from text_table.h, of strings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/cli/render/text_table.h"  // IWYU pragma: export
#include "locus/v1/tensor.pb.h"

namespace locus::client {

// How to print a tensor. The last two axes are rows and columns; each index of
// the axes before them is a separate table.
struct TensorTable {
  std::string title = "";
  // Labels of rows and columns; default: their indices.
  std::function<std::string(int64_t)> row_label = nullptr;
  std::function<std::string(int64_t)> column_label = nullptr;
  // Headings of the tables of a tensor with more than two axes; default: the
  // title and the index.
  std::function<std::string(int64_t)> table_label = nullptr;
  // Width of the terminal in columns. Columns that do not fit are left out of
  // the middle of the table.
  int width = 80;
};

// The title, type and shape of a tensor, followed by its elements. The middle
// of large tensors is left out. The tensor must have passed CheckTensor().
std::string FormatTensor(const TensorTable& table, const v1::Tensor& tensor);

// "title  1, 0.5, 0.25". The middle of long lists is left out, and the rest is
// wrapped at `width` columns.
std::string FormatList(const std::string& title,
                       const std::vector<double>& values,
                       int width = OutputColumns());

}  // namespace locus::client
