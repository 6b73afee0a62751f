#include "core/encoding/apply.h"

#include <algorithm>
#include <cstring>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/encoding/apply.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "core/simd/streaming_stores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
constexpr int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());

// Prefetch distance for large inputs, in elements. Prefetching past the end of
// the input is harmless.
template <typename T>
constexpr int64_t kPrefetchDistance = 4096 / sizeof(T);

// Loads and stores of single elements with any alignment.
template <typename T>
HWY_INLINE T Get(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
HWY_INLINE void Set(T* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Rotates one row.
template <typename T, bool kAdjacent, bool kStreaming>
HWY_INLINE void RotateRow(const T* cos, const T* sin, int64_t pairs,
                          const T* from, T* to) {
  constexpr hn::ScalableTag<T> d;
  int64_t k = 0;
  for (; k + kLanes<T> <= pairs; k += kLanes<T>) {
    const auto c = hn::LoadU(d, cos + k);
    const auto s = hn::LoadU(d, sin + k);
    hn::Vec<decltype(d)> a, b;
    if constexpr (kStreaming) {
      hwy::Prefetch(from + 2 * k + kPrefetchDistance<T>);
      hwy::Prefetch(from + 2 * k + kLanes<T> + kPrefetchDistance<T>);
    }
    if constexpr (kAdjacent) {
      hn::LoadInterleaved2(d, from + 2 * k, a, b);
    } else {
      a = hn::LoadU(d, from + k);
      b = hn::LoadU(d, from + pairs + k);
    }
    const auto x = hn::Sub(hn::Mul(a, c), hn::Mul(b, s));
    const auto y = hn::Add(hn::Mul(a, s), hn::Mul(b, c));
    if constexpr (kAdjacent) {
      StoreInterleaved<kStreaming>(d, x, y, to + 2 * k);
    } else {
      StoreVector<kStreaming>(d, x, to + k);
      StoreVector<kStreaming>(d, y, to + pairs + k);
    }
  }
  constexpr int64_t kStep = kAdjacent ? 2 : 1;
  const int64_t partner = kAdjacent ? 1 : pairs;
  for (; k < pairs; ++k) {
    const T a = Get(from + k * kStep);
    const T b = Get(from + k * kStep + partner);
    Set(to + k * kStep, a * cos[k] - b * sin[k]);
    Set(to + k * kStep + partner, a * sin[k] + b * cos[k]);
  }
}

template <typename T, bool kAdjacent, bool kStreaming>
void RotateAll(const RowRotation<T>& rows) {
  const T* from = static_cast<const T*>(rows.input);
  T* to = static_cast<T*>(rows.output);
  const int64_t rotated = 2 * rows.pairs;
  for (int64_t i = 0; i < rows.rows; ++i) {
    RotateRow<T, kAdjacent, kStreaming>(rows.cos + i * rows.pairs,
                                        rows.sin + i * rows.pairs, rows.pairs,
                                        from, to);
    if (rotated < rows.width && from != to) {
      std::memcpy(to + rotated, from + rotated,
                  (rows.width - rotated) * sizeof(T));
    }
    from += rows.width;
    to += rows.width;
  }
}

template <typename T, bool kAdjacent>
void RotatePaired(const RowRotation<T>& rows) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (rows.store_policy == StorePolicy::kStreaming &&
      rows.pairs % kLanes<T> == 0 &&
      IsAligned(rows.output, rows.width * kSize)) {
    RotateAll<T, kAdjacent, true>(rows);
    hwy::FlushStream();
  } else {
    RotateAll<T, kAdjacent, false>(rows);
  }
}

template <typename T>
void RotateRowsImpl(const RowRotation<T>& rows) {
  if (rows.adjacent) {
    RotatePaired<T, true>(rows);
  } else {
    RotatePaired<T, false>(rows);
  }
}

template <typename T>
HWY_INLINE void AddElements(const T* input, const T* addend, int64_t i,
                            int64_t count, T* output) {
  for (; i < count; ++i) Set(output + i, Get(input + i) + addend[i]);
}

template <typename T, bool kStreaming>
HWY_INLINE void AddVectors(const T* input, const T* addend, int64_t i,
                           int64_t count, T* output) {
  constexpr hn::ScalableTag<T> d;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    StoreVector<kStreaming>(
        d, hn::Add(hn::LoadU(d, input + i), hn::LoadU(d, addend + i)),
        output + i);
  }
  AddElements(input, addend, i, count, output);
}

template <typename T>
void AddImpl(const void* input, const T* addend, int64_t count, void* output,
             StorePolicy store_policy) {
  const T* const from = static_cast<const T*>(input);
  T* const to = static_cast<T*>(output);
  if (store_policy == StorePolicy::kCached) {
    return AddVectors<T, false>(from, addend, 0, count, to);
  }
  // The row length of scores is the number of keys, so that most rows are not
  // aligned: add single elements up to the first aligned address.
  int64_t begin = 0;
  while (begin < std::min(count, kLanes<T>) && !IsAligned(to + begin, 0)) {
    ++begin;
  }
  AddElements(from, addend, 0, begin, to);
  if (IsAligned(to + begin, 0)) {
    AddVectors<T, true>(from, addend, begin, count, to);
    hwy::FlushStream();
  } else {
    AddVectors<T, false>(from, addend, begin, count, to);
  }
}

}  // namespace

void RotateRowsF32(const RowRotation<float>& rows) { RotateRowsImpl(rows); }
void RotateRowsF64(const RowRotation<double>& rows) { RotateRowsImpl(rows); }
void AddF32(const void* input, const float* addend, int64_t count, void* output,
            StorePolicy store_policy) {
  AddImpl(input, addend, count, output, store_policy);
}
void AddF64(const void* input, const double* addend, int64_t count,
            void* output, StorePolicy store_policy) {
  AddImpl(input, addend, count, output, store_policy);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(RotateRowsF32);
HWY_EXPORT(RotateRowsF64);
HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);

template <>
void RotateRows(const RowRotation<float>& rows) {
  HWY_DYNAMIC_DISPATCH(RotateRowsF32)(rows);
}
template <>
void RotateRows(const RowRotation<double>& rows) {
  HWY_DYNAMIC_DISPATCH(RotateRowsF64)(rows);
}
template <>
void Add(const void* input, const float* addend, int64_t count, void* output,
         StorePolicy store_policy) {
  HWY_DYNAMIC_DISPATCH(AddF32)(input, addend, count, output, store_policy);
}
template <>
void Add(const void* input, const double* addend, int64_t count, void* output,
         StorePolicy store_policy) {
  HWY_DYNAMIC_DISPATCH(AddF64)(input, addend, count, output, store_policy);
}

}  // namespace locus
#endif  // HWY_ONCE
