// Transposition of matrices, one square of vectors at a time.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_TRANSPOSE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_TRANSPOSE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_TRANSPOSE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Elements of a 16-byte block. Most shuffle instructions do not cross blocks.
template <typename T>
constexpr int64_t kBlockElements = Lanes<T>() == 1
                                       ? 1
                                       : 16 / static_cast<int64_t>(sizeof(T));
// Number of 16-byte blocks in a vector.
template <typename T>
constexpr int64_t kBlockCount = Lanes<T>() / kBlockElements<T>;

#if HWY_TARGET == HWY_SCALAR  // vectors have one lane

template <typename T>
HWY_INLINE void TransposeBlocks(Vector<T>*, int64_t) {}
template <typename V>
HWY_INLINE void TransposeWithinBlocks(V*) {}

#else

// Swaps block b of x[g * step] and block g of x[b * step].
template <typename T>
HWY_INLINE void TransposeBlocks(Vector<T>* x, int64_t step) {
  [[maybe_unused]] constexpr Tag<T> d;
  static_assert(kBlockCount<T> <= 4);
  if constexpr (kBlockCount<T> == 4) {
    for (int64_t g = 0; g < 2; ++g) {
      Vector<T>& a = x[g * step];
      Vector<T>& b = x[(g + 2) * step];
      const auto lower = hn::ConcatLowerLower(d, b, a);
      b = hn::ConcatUpperUpper(d, b, a);
      a = lower;
    }
  }
  if constexpr (kBlockCount<T> >= 2) {
    for (int64_t g = 0; g < kBlockCount<T>; g += 2) {
      Vector<T>& a = x[g * step];
      Vector<T>& b = x[(g + 1) * step];
      const auto even = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
      a = even;
    }
  }
}

// Swaps element r of x[c] and element c of x[r] within each block.
HWY_INLINE void TransposeWithinBlocks(Vector<double>* x) {
  constexpr Tag<double> d;
  const auto lower = hn::InterleaveLower(d, x[0], x[1]);
  x[1] = hn::InterleaveUpper(d, x[0], x[1]);
  x[0] = lower;
}
HWY_INLINE void TransposeWithinBlocks(Vector<float>* x) {
  constexpr Tag<float> d;
  constexpr hn::RepartitionToWide<decltype(d)> twice;
  const auto pairs = [&](Vector<float> v)
                         HWY_ATTR { return hn::BitCast(twice, v); };
  const auto a = pairs(hn::InterleaveLower(d, x[0], x[1]));
  const auto b = pairs(hn::InterleaveUpper(d, x[0], x[1]));
  const auto e = pairs(hn::InterleaveLower(d, x[2], x[3]));
  const auto f = pairs(hn::InterleaveUpper(d, x[2], x[3]));
  x[0] = hn::BitCast(d, hn::InterleaveLower(twice, a, e));
  x[1] = hn::BitCast(d, hn::InterleaveUpper(twice, a, e));
  x[2] = hn::BitCast(d, hn::InterleaveLower(twice, b, f));
  x[3] = hn::BitCast(d, hn::InterleaveUpper(twice, b, f));
}

#endif

// Transposes a square matrix of vectors: swaps element r of x[c] and element c
// of x[r].
template <typename T>
HWY_INLINE void TransposeSquare(Vector<T> (&x)[Lanes<T>()]) {
  for (int64_t g = 0; g < kBlockCount<T>; ++g) {
    TransposeWithinBlocks(x + g * kBlockElements<T>);
  }
  for (int64_t k = 0; k < kBlockElements<T>; ++k) {
    TransposeBlocks<T>(x + k, kBlockElements<T>);
  }
}

// Sets columns[c * stride + r] = rows[r][c] * factor for c < count and as many
// rows as a vector has lanes. Requires aligned columns.
template <typename T>
HWY_INLINE void RowsToColumns(const T* const (&rows)[Lanes<T>()], int64_t count,
                              T factor, int64_t stride,
                              T* HWY_RESTRICT columns) {
  constexpr Tag<T> d;
  constexpr int64_t kLanes = Lanes<T>();
  const auto f = hn::Set(d, factor);
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    Vector<T> x[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) x[r] = hn::LoadU(d, rows[r] + c);
    TransposeSquare<T>(x);
    for (int64_t k = 0; k < kLanes; ++k) {
      hn::Store(hn::Mul(x[k], f), d, columns + (c + k) * stride);
    }
  }
  for (; c < count; ++c) {
    for (int64_t r = 0; r < kLanes; ++r) {
      columns[c * stride + r] = rows[r][c] * factor;
    }
  }
}

// A matrix by columns: element r of column c is data[c * stride + r].
template <typename T>
struct ColumnView {
  const T* data = nullptr;
  int64_t stride = 0;
  int64_t count = 0;  // of columns
};

// Sets rows[r][c] = element r of column c, times factors[r], for r < row_count.
// Requires aligned columns.
template <typename T>
HWY_INLINE void ColumnsToRows(const ColumnView<T>& matrix, const T* factors,
                              T* const (&rows)[Lanes<T>()], int64_t row_count) {
  constexpr Tag<T> d;
  const T* HWY_RESTRICT columns = matrix.data;
  const int64_t stride = matrix.stride;
  const int64_t count = matrix.count;
  constexpr int64_t kLanes = Lanes<T>();
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    Vector<T> x[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) {
      x[k] = hn::Load(d, columns + (c + k) * stride);
    }
    TransposeSquare<T>(x);
    for (int64_t r = 0; r < row_count; ++r) {
      hn::StoreU(hn::Mul(x[r], hn::Set(d, factors[r])), d, rows[r] + c);
    }
  }
  for (; c < count; ++c) {
    for (int64_t r = 0; r < row_count; ++r) {
      rows[r][c] = columns[c * stride + r] * factors[r];
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
