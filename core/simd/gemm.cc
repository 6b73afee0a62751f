#include "core/simd/gemm.h"

#include <algorithm>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd/gemm.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

// Rows of a result tile, which is two vectors wide. The tile keeps one register
// per sum, two for the right-hand operand and one for a broadcast element of
// the left-hand operand.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kTileRows = 12;
#else
constexpr int64_t kTileRows = 6;
#endif
template <typename T>
constexpr int64_t PanelColumns() {
  return 2 * Lanes<T>();
}

// Distances between elements of both operands, in elements.
struct Strides {
  int64_t left_row;   // from one row of the tile to the next
  int64_t left_next;  // from one term of the sums to the next
  int64_t right_next;
};

// result[r, v] (+)= sum over n of left[r left_row + n left_next] *
//                                 right[n right_next + v]
template <typename T, int kRows, int kVectors>
HWY_INLINE void ComputeTile(const T* HWY_RESTRICT left,
                            const T* HWY_RESTRICT right, int64_t count,
                            const Strides& strides, T* HWY_RESTRICT result,
                            int64_t result_stride, int64_t columns, bool add) {
  constexpr Tag<T> d;
  constexpr int64_t kLanes = Lanes<T>();
  Vector<T> sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  // With less unrolling the loop takes up to twice as long on some processors.
#pragma GCC unroll 4
  for (int64_t n = 0; n < count; ++n) {
    Vector<T> y[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      y[v] = hn::LoadU(d, right + v * kLanes);
    }
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, left[r * strides.left_row]);
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(x, y[v], sum[r][v]);
      }
    }
    left += strides.left_next;
    right += strides.right_next;
  }
  if (columns >= kVectors * kLanes) {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        T* const to = result + r * result_stride + v * kLanes;
        if (add) sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, to));
        hn::StoreU(sum[r][v], d, to);
      }
    }
    return;
  }
  for (int r = 0; r < kRows; ++r) {
    HWY_ALIGN T row[kVectors * kLanes];
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[r][v], d, row + v * kLanes);
    }
    T* const to = result + r * result_stride;
    for (int64_t c = 0; c < columns; ++c) {
      to[c] = add ? to[c] + row[c] : row[c];
    }
  }
}

// Computes all rows of one panel of the result.
template <typename T, int kVectors>
void ComputePanel(const T* left, const T* right, int64_t count,
                  const Strides& strides, MatrixView<T> result, bool add) {
  const auto tile = [&](auto rows, int64_t i) {
    ComputeTile<T, decltype(rows)::value, kVectors>(
        left + i * strides.left_row, right, count, strides, result.row(i),
        result.stride, result.columns, add);
  };
  int64_t i = 0;
  for (; i + kTileRows <= result.rows; i += kTileRows) {
    tile(std::integral_constant<int, kTileRows>(), i);
  }
  if constexpr (kTileRows > 8) {
    if (i + 8 <= result.rows) {
      tile(std::integral_constant<int, 8>(), i);
      i += 8;
    }
  }
  if (i + 4 <= result.rows) {
    tile(std::integral_constant<int, 4>(), i);
    i += 4;
  }
  if (i + 2 <= result.rows) {
    tile(std::integral_constant<int, 2>(), i);
    i += 2;
  }
  if (i < result.rows) tile(std::integral_constant<int, 1>(), i);
}

// Computes all panels of the result. right_panel: elements from one panel of
// the right-hand operand to the next.
template <typename T>
void Compute(const T* left, const T* right, int64_t right_panel, int64_t count,
             const Strides& strides, MatrixView<T> result, bool add) {
  constexpr int64_t kColumns = PanelColumns<T>();
  for (int64_t j = 0; j < result.columns; j += kColumns) {
    const int64_t columns = std::min(kColumns, result.columns - j);
    const MatrixView<T> panel = result.Columns(j, columns);
    const T* const from = right + j / kColumns * right_panel;
    if (columns <= Lanes<T>()) {
      ComputePanel<T, 1>(left, from, count, strides, panel, add);
    } else {
      ComputePanel<T, 2>(left, from, count, strides, panel, add);
    }
  }
}

template <typename T>
void MultiplyImpl(MatrixView<const T> a, const T* b, int64_t b_rows,
                  MatrixView<T> c, bool add) {
  const Strides strides{
      .left_row = a.stride, .left_next = 1, .right_next = PanelColumns<T>()};
  Compute<T>(a.data, b, b_rows * PanelColumns<T>(), a.columns, strides, c, add);
}

template <typename T>
void AddTransposedProductImpl(MatrixView<const T> a, MatrixView<const T> b,
                              MatrixView<T> c) {
  const Strides strides{
      .left_row = 1, .left_next = a.stride, .right_next = b.stride};
  Compute<T>(a.data, b.data, PanelColumns<T>(), a.rows, strides, c,
             /*add=*/true);
}

}  // namespace

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }
int64_t PanelColumnsF32() { return PanelColumns<float>(); }
int64_t PanelColumnsF64() { return PanelColumns<double>(); }
void MultiplyF32(MatrixView<const float> a, const float* b, int64_t b_rows,
                 MatrixView<float> c, bool add) {
  MultiplyImpl(a, b, b_rows, c, add);
}
void MultiplyF64(MatrixView<const double> a, const double* b, int64_t b_rows,
                 MatrixView<double> c, bool add) {
  MultiplyImpl(a, b, b_rows, c, add);
}
void AddTransposedProductF32(MatrixView<const float> a,
                             MatrixView<const float> b, MatrixView<float> c) {
  AddTransposedProductImpl(a, b, c);
}
void AddTransposedProductF64(MatrixView<const double> a,
                             MatrixView<const double> b, MatrixView<double> c) {
  AddTransposedProductImpl(a, b, c);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(TargetName);
HWY_EXPORT(PanelColumnsF32);
HWY_EXPORT(PanelColumnsF64);
HWY_EXPORT(MultiplyF32);
HWY_EXPORT(MultiplyF64);
HWY_EXPORT(AddTransposedProductF32);
HWY_EXPORT(AddTransposedProductF64);

namespace {

template <typename T>
int64_t PanelColumns() {
  if constexpr (sizeof(T) == sizeof(float)) {
    return HWY_DYNAMIC_DISPATCH(PanelColumnsF32)();
  } else {
    return HWY_DYNAMIC_DISPATCH(PanelColumnsF64)();
  }
}

}  // namespace

template <typename T>
int64_t PackedMatrix<T>::Size(int64_t rows, int64_t columns) {
  const int64_t panel = PanelColumns<T>();
  return rows * ((columns + panel - 1) / panel * panel);
}

template <typename T>
void PackedMatrix<T>::Resize(int64_t rows, int64_t columns) {
  const int64_t size = Size(rows, columns);
  if (size > capacity_) {
    buffer_ = AlignedBuffer<T>(size);
    capacity_ = size;
  }
  rows_ = rows;
  columns_ = columns;
}

template <typename T>
void PackedMatrix<T>::Pack(MatrixView<const T> b) {
  Resize(b.rows, b.columns);
  const int64_t panel = PanelColumns<T>();
  T* to = buffer_.get();
  for (int64_t j = 0; j < columns_; j += panel) {
    const int64_t width = std::min(panel, columns_ - j);
    for (int64_t k = 0; k < rows_; ++k, to += panel) {
      std::copy_n(b.row(k) + j, width, to);
      std::fill(to + width, to + panel, T(0));
    }
  }
}

template <typename T>
void PackedMatrix<T>::PackTransposed(MatrixView<const T> b) {
  Resize(b.columns, b.rows);
  const int64_t panel = PanelColumns<T>();
  T* to = buffer_.get();
  for (int64_t j = 0; j < columns_; j += panel, to += rows_ * panel) {
    const int64_t width = std::min(panel, columns_ - j);
    for (int64_t c = 0; c < width; ++c) {
      const T* const from = b.row(j + c);
      for (int64_t k = 0; k < rows_; ++k) to[k * panel + c] = from[k];
    }
    for (int64_t c = width; c < panel; ++c) {
      for (int64_t k = 0; k < rows_; ++k) to[k * panel + c] = T(0);
    }
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

template <>
void Multiply(MatrixView<const float> a, const PackedMatrix<float>& b,
              MatrixView<float> c, Accumulate into) {
  HWY_DYNAMIC_DISPATCH(MultiplyF32)
  (a, b.data(), b.rows(), c, into == Accumulate::kAdd);
}
template <>
void Multiply(MatrixView<const double> a, const PackedMatrix<double>& b,
              MatrixView<double> c, Accumulate into) {
  HWY_DYNAMIC_DISPATCH(MultiplyF64)
  (a, b.data(), b.rows(), c, into == Accumulate::kAdd);
}
template <>
void AddTransposedProduct(MatrixView<const float> a, MatrixView<const float> b,
                          MatrixView<float> c) {
  HWY_DYNAMIC_DISPATCH(AddTransposedProductF32)(a, b, c);
}
template <>
void AddTransposedProduct(MatrixView<const double> a,
                          MatrixView<const double> b, MatrixView<double> c) {
  HWY_DYNAMIC_DISPATCH(AddTransposedProductF64)(a, b, c);
}

const char* InstructionSet() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace locus
#endif  // HWY_ONCE
