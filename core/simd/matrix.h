// Dense matrices of single or double precision, row-major.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/simd/aligned_buffer.h"

namespace locus {

// Someone's matrix: rows of `columns` numbers, `stride` apart.
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
  // Reading is always allowed.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, columns, stride};
  }
};

// A matrix of its own, that grows to the largest size asked for and keeps it.
//
// Rows are padded so that successive ones do not compete for the same lines of
// a cache, and a vector read past the last element stays inside.
template <typename T>
class Matrix {
 public:
  // Numbers of padding that a reader of vectors may touch.
  static constexpr int64_t kSlack = 64;

  // The numbers that a matrix of that size occupies.
  static int64_t Size(int64_t rows, int64_t columns) {
    return rows * Stride(columns) + kSlack;
  }

  // Uninitialised, whatever it held before; padding is always finite.
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
