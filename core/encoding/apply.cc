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

// So far ahead memory is asked for what is needed, where there is much of it;
// past the end nothing happens.
template <typename T>
constexpr int64_t kAhead = 4096 / sizeof(T);

// Single numbers, of any alignment.
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

// One row, of either pairing.
template <typename T, bool kAdjacent, bool kPast>
HWY_INLINE void TurnRow(const T* cos, const T* sin, int64_t pairs,
                        const T* from, T* to) {
  constexpr hn::ScalableTag<T> d;
  int64_t k = 0;
  for (; k + kLanes<T> <= pairs; k += kLanes<T>) {
    const auto c = hn::LoadU(d, cos + k);
    const auto s = hn::LoadU(d, sin + k);
    hn::Vec<decltype(d)> a, b;
    if constexpr (kPast) {
      hwy::Prefetch(from + 2 * k + kAhead<T>);
      hwy::Prefetch(from + 2 * k + kLanes<T> + kAhead<T>);
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
      PutAlternating<kPast>(d, x, y, to + 2 * k);
    } else {
      Put<kPast>(d, x, to + k);
      Put<kPast>(d, y, to + pairs + k);
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

template <typename T, bool kAdjacent, bool kPast>
void TurnAll(const RowsToTurn<T>& rows) {
  const T* from = static_cast<const T*>(rows.input);
  T* to = static_cast<T*>(rows.output);
  const int64_t turned = 2 * rows.pairs;
  for (int64_t i = 0; i < rows.rows; ++i) {
    TurnRow<T, kAdjacent, kPast>(rows.cos + i * rows.pairs,
                                 rows.sin + i * rows.pairs, rows.pairs, from,
                                 to);
    if (turned < rows.width && from != to) {
      std::memcpy(to + turned, from + turned,
                  (rows.width - turned) * sizeof(T));
    }
    from += rows.width;
    to += rows.width;
  }
}

template <typename T, bool kAdjacent>
void TurnPaired(const RowsToTurn<T>& rows) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  if (rows.writes == Writes::kPastCache && rows.pairs % kLanes<T> == 0 &&
      IsAligned(rows.output, rows.width * kSize)) {
    TurnAll<T, kAdjacent, true>(rows);
    hwy::FlushStream();
  } else {
    TurnAll<T, kAdjacent, false>(rows);
  }
}

template <typename T>
void TurnImpl(const RowsToTurn<T>& rows) {
  if (rows.adjacent) {
    TurnPaired<T, true>(rows);
  } else {
    TurnPaired<T, false>(rows);
  }
}

template <typename T>
HWY_INLINE void AddSingly(const T* input, const T* addend, int64_t i,
                          int64_t count, T* output) {
  for (; i < count; ++i) Set(output + i, Get(input + i) + addend[i]);
}

template <typename T, bool kPast>
HWY_INLINE void AddFrom(const T* input, const T* addend, int64_t i,
                        int64_t count, T* output) {
  constexpr hn::ScalableTag<T> d;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    Put<kPast>(d, hn::Add(hn::LoadU(d, input + i), hn::LoadU(d, addend + i)),
               output + i);
  }
  AddSingly(input, addend, i, count, output);
}

template <typename T>
void AddImpl(const void* input, const T* addend, int64_t count, void* output,
             Writes writes) {
  const T* const from = static_cast<const T*>(input);
  T* const to = static_cast<T*>(output);
  if (writes == Writes::kThroughCache) {
    return AddFrom<T, false>(from, addend, 0, count, to);
  }
  // Rows of scores are as long as there are keys: most begin in mid-vector.
  int64_t begin = 0;
  while (begin < std::min(count, kLanes<T>) && !IsAligned(to + begin, 0)) {
    ++begin;
  }
  AddSingly(from, addend, 0, begin, to);
  if (IsAligned(to + begin, 0)) {
    AddFrom<T, true>(from, addend, begin, count, to);
    hwy::FlushStream();
  } else {
    AddFrom<T, false>(from, addend, begin, count, to);
  }
}

}  // namespace

void TurnF32(const RowsToTurn<float>& rows) { TurnImpl(rows); }
void TurnF64(const RowsToTurn<double>& rows) { TurnImpl(rows); }
void AddF32(const void* input, const float* addend, int64_t count, void* output,
            Writes writes) {
  AddImpl(input, addend, count, output, writes);
}
void AddF64(const void* input, const double* addend, int64_t count,
            void* output, Writes writes) {
  AddImpl(input, addend, count, output, writes);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(TurnF32);
HWY_EXPORT(TurnF64);
HWY_EXPORT(AddF32);
HWY_EXPORT(AddF64);

template <>
void Turn(const RowsToTurn<float>& rows) {
  HWY_DYNAMIC_DISPATCH(TurnF32)(rows);
}
template <>
void Turn(const RowsToTurn<double>& rows) {
  HWY_DYNAMIC_DISPATCH(TurnF64)(rows);
}
template <>
void Add(const void* input, const float* addend, int64_t count, void* output,
         Writes writes) {
  HWY_DYNAMIC_DISPATCH(AddF32)(input, addend, count, output, writes);
}
template <>
void Add(const void* input, const double* addend, int64_t count, void* output,
         Writes writes) {
  HWY_DYNAMIC_DISPATCH(AddF64)(input, addend, count, output, writes);
}

}  // namespace locus
#endif  // HWY_ONCE
