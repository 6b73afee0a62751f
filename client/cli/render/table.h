// Tables for people to read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "locus/v1/tensor.pb.h"

namespace locus::client {

// Columns as wide as they need to be, two spaces between them, left-aligned.
std::string FormatRows(const std::vector<std::vector<std::string>>& rows);

// How a tensor is shown. The last two axes are rows and columns; each index of
// the axes before them has a table of its own.
struct TensorTable {
  std::string title = "";
  // What stands beside rows and above columns; indices unless set.
  std::function<std::string(int64_t)> row_label = nullptr;
  std::function<std::string(int64_t)> column_label = nullptr;
  // What stands above each table where there are several; by default the title
  // and its index.
  std::function<std::string(int64_t)> table_label = nullptr;
  // Columns of the screen. What does not fit is left out of the middle.
  int width = 80;
};

// The tensor's title, type and shape, then its numbers, the middle of large
// ones left out. The tensor has passed CheckTensor.
std::string FormatTensor(const TensorTable& table, const v1::Tensor& tensor);

// "title  1, 0.5, 0.25", the middle of long lists left out.
std::string FormatList(const std::string& title,
                       const std::vector<double>& values);

}  // namespace locus::client
