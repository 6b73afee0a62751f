// Rows of sines and cosines for arbitrary positions, each computed
// independently.
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#undef LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#else
#define LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "core/encoding/angles/angles.h"
#include "core/encoding/angles/sin_cos-inl.h"
#include "core/simd/streaming_stores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// The i-th vector of T, converted from vectors of doubles.
HWY_INLINE Vector<double> Converted(const Vector<double>* v, int i, double) {
  return v[i];
}
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Converted(const Vector<double>* v,
                                                     int i, float) {
#if HWY_TARGET == HWY_SCALAR
  return Rounded(v[i]);
#else
  return Rounded(v[2 * i], v[2 * i + 1]);
#endif
}

// Stores kVectors vectors of doubles as T.
template <typename T, int kVectors, bool kStreaming>
HWY_INLINE void StoreAll(const Vector<double>* v, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    StoreVector<kStreaming>(d, Converted(v, i, T()), to + i * hn::MaxLanes(d));
  }
}

// Stores the elements of a and b alternately as T.
template <typename T, int kVectors, bool kStreaming>
HWY_INLINE void StoreAllInterleaved(const Vector<double>* a,
                                    const Vector<double>* b, T* to) {
  constexpr hn::ScalableTag<T> d;
  for (int i = 0; i < kVectors / kPerVector<T>; ++i) {
    StoreInterleaved<kStreaming>(d, Converted(a, i, T()), Converted(b, i, T()),
                                 to + 2 * i * hn::MaxLanes(d));
  }
}

// Adjacent columns of a table: `width` frequencies from index `first` on, at
// most kVectors vectors.
template <typename T, int kVectors, bool kStreaming>
struct Columns {
  static constexpr int kWidth = kVectors * kLanes;

  const AngleTable<T>& table;
  int64_t first;
  int64_t width;

  void Fill(const int64_t* positions, int64_t count) const {
    Rotations rotations[kVectors];
    LoadRotations<kVectors>(table.frequencies, first, rotations);
    for (int64_t i = 0; i < count; ++i) {
      const auto position = static_cast<double>(positions[i]);
      Vector<double> sin[kVectors], cos[kVectors], factors[kVectors];
      SinCos<kVectors>(position, rotations, sin, cos);
      Factors<T, kVectors>(table, first, position, factors);
      for (int v = 0; v < kVectors; ++v) {
        sin[v] = hn::Mul(sin[v], factors[v]);
        cos[v] = hn::Mul(cos[v], factors[v]);
      }
      StoreRow(i, sin, cos);
    }
  }

  HWY_INLINE void StoreRow(int64_t row, const Vector<double>* sin,
                           const Vector<double>* cos) const {
    const bool interleaved =
        table.layout == AngleTable<T>::Layout::kInterleaved;
    T* const sin_to =
        table.sin + row * table.stride + (interleaved ? 2 : 1) * first;
    T* const cos_to =
        table.cos == nullptr ? nullptr : table.cos + row * table.stride + first;
    if (width == kWidth) {
      if (interleaved) {
        return StoreAllInterleaved<T, kVectors, kStreaming>(sin, cos, sin_to);
      }
      StoreAll<T, kVectors, kStreaming>(sin, sin_to);
      if (cos_to != nullptr) StoreAll<T, kVectors, kStreaming>(cos, cos_to);
      return;
    }
    HWY_ALIGN T padded[2 * kWidth];
    if (interleaved) {
      StoreAllInterleaved<T, kVectors, false>(sin, cos, padded);
      std::copy_n(padded, 2 * width, sin_to);
      return;
    }
    StoreAll<T, kVectors, false>(sin, padded);
    std::copy_n(padded, width, sin_to);
    StoreAll<T, kVectors, false>(cos, padded);
    if (cos_to != nullptr) std::copy_n(padded, width, cos_to);
  }
};

template <typename T, bool kStreaming>
void Each(const AngleTable<T>& table, const int64_t* positions, int64_t count) {
  const auto pairs = static_cast<int64_t>(table.frequencies.size());
  constexpr int kVectors = 2;
  constexpr int64_t kWidth = kVectors * kLanes;
  for (int64_t k = 0; k < pairs; k += kWidth) {
    Columns<T, kVectors, kStreaming>{table, k, std::min(kWidth, pairs - k)}
        .Fill(positions, count);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_ENCODING_ANGLES_EACH_ANGLE_INL_H_
