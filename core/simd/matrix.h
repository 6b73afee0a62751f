// Dense row-major matrices of float or double.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/simd/aligned_buffer.h"

namespace locus {

// A matrix that is not owned: `rows` rows of `columns` elements, with `stride`
// elements from the start of one row to the next. The elements must outlive the
// view.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;

  T* row(int64_t i) const { return data + i * stride; }
  MatrixView Rows(int64_t first, int64_t count) const {
    return {row(first), count, columns, stride};
  }
  MatrixView Columns(int64_t first, int64_t count) const {
    return {data + first, rows, count, stride};
  }
  // Implicit conversion to a read-only view.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, columns, stride};
  }
};

// An owned matrix that can be resized without reallocation up to the largest
// size it has had. Use it for scratch memory that is reused across calls.
//
// Rows are padded so that successive rows map to different cache sets, and the
// buffer ends with kSlack spare elements so that a vector load past the last
// element stays in bounds.
template <typename T>
class Matrix {
 public:
  // Number of elements past the end that may be read.
  static constexpr int64_t kSlack = 64;

  // Number of elements, padding included, of a [rows, columns] matrix.
  static int64_t Size(int64_t rows, int64_t columns) {
    return rows * Stride(columns) + kSlack;
  }

  // Sets the size. The contents are unspecified afterwards, but the padding is
  // always finite.
  MatrixView<T> Resize(int64_t rows, int64_t columns) {
    const int64_t size = Size(rows, columns);
    if (size > capacity_) {
      buffer_ = AlignedBuffer<T>(size);
      std::fill_n(buffer_.get(), size, T(0));
      capacity_ = size;
    }
    view_ = {buffer_.get(), rows, columns, Stride(columns)};
    return view_;
  }
  const MatrixView<T>& view() const { return view_; }
  int64_t capacity() const { return capacity_; }

 private:
  static int64_t Stride(int64_t columns) {
    const int64_t whole = (columns + 15) / 16 * 16;
    return whole % 64 == 0 ? whole + 16 : whole;
  }

  AlignedBuffer<T> buffer_;
  int64_t capacity_ = 0;
  MatrixView<T> view_;
};

}  // namespace locus
