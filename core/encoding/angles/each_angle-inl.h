// Rows of angles for positions in any order, each by itself. To be included by
// files that are compiled once for each instruction set.
#if defined(LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#undef LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#else
#define LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "core/simd/streaming_stores-inl.h"
#include "core/encoding/angles/angles.h"
#include "core/encoding/angles/sin_cos-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// The i-th vector of T from vectors of doubles.
HWY_INLINE Vector<double> Taken(const Vector<double>* v, int i, double) {
  return v[i];
}
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Taken(const Vector<double>* v, int i,
                                                 float) {
#if HWY_TARGET == HWY_SCALAR
  return Rounded(v[i]);
#else
  return Rounded(v[2 * i], v[2 * i + 1]);
#endif
}

template <typename T, int kVectors, bool kPast>
HWY_INLINE void PutAll(const Vector<double>* v, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    Put<kPast>(d, Taken(v, i, T()), to + i * hn::MaxLanes(d));
  }
}

template <typename T, int kVectors, bool kPast>
HWY_INLINE void PutAllAlternating(const Vector<double>* a,
                                  const Vector<double>* b, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    PutAlternating<kPast>(d, Taken(a, i, T()), Taken(b, i, T()),
                          to + 2 * i * hn::MaxLanes(d));
  }
}

// Some columns of a table: kVectors vectors of frequencies from the one at
// `first` on, or fewer numbers than that if `width` says so.
template <typename T, int kVectors, bool kPast>
struct Columns {
  static constexpr int kWidth = kVectors * kLanes;

  const AngleTable<T>& table;
  int64_t first;
  int64_t width;

  void Fill(const int64_t* positions, int64_t count) const {
    Turns turns[kVectors];
    LoadTurns<kVectors>(table.frequencies, first, turns);
    for (int64_t i = 0; i < count; ++i) {
      const auto position = static_cast<double>(positions[i]);
      Vector<double> sin[kVectors], cos[kVectors], factors[kVectors];
      SinCos<kVectors>(position, turns, sin, cos);
      Factors<T, kVectors>(table, first, position, factors);
      for (int v = 0; v < kVectors; ++v) {
        sin[v] = hn::Mul(sin[v], factors[v]);
        cos[v] = hn::Mul(cos[v], factors[v]);
      }
      PutRow(i, sin, cos);
    }
  }

  HWY_INLINE void PutRow(int64_t row, const Vector<double>* sin,
                         const Vector<double>* cos) const {
    const bool alternating =
        table.layout == AngleTable<T>::Layout::kAlternating;
    T* const sin_to =
        table.sin + row * table.stride + (alternating ? 2 : 1) * first;
    T* const cos_to =
        table.cos == nullptr ? nullptr : table.cos + row * table.stride + first;
    if (width == kWidth) {
      if (alternating) {
        return PutAllAlternating<T, kVectors, kPast>(sin, cos, sin_to);
      }
      PutAll<T, kVectors, kPast>(sin, sin_to);
      if (cos_to != nullptr) PutAll<T, kVectors, kPast>(cos, cos_to);
      return;
    }
    HWY_ALIGN T some[2 * kWidth];
    if (alternating) {
      PutAllAlternating<T, kVectors, false>(sin, cos, some);
      std::copy_n(some, 2 * width, sin_to);
      return;
    }
    PutAll<T, kVectors, false>(sin, some);
    std::copy_n(some, width, sin_to);
    PutAll<T, kVectors, false>(cos, some);
    if (cos_to != nullptr) std::copy_n(some, width, cos_to);
  }
};

template <typename T, bool kPast>
void Each(const AngleTable<T>& table, const int64_t* positions, int64_t count) {
  const auto pairs = static_cast<int64_t>(table.frequencies.size());
  constexpr int kVectors = 2;
  constexpr int64_t kWidth = kVectors * kLanes;
  for (int64_t k = 0; k < pairs; k += kWidth) {
    Columns<T, kVectors, kPast>{table, k, std::min(kWidth, pairs - k)}.Fill(
        positions, count);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
