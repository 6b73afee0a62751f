// Vectors of sines and cosines of position times frequency.
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_ENCODING_ANGLES_SIN_COS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ENCODING_ANGLES_SIN_COS_INL_H_
#undef LOCUS_CORE_ENCODING_ANGLES_SIN_COS_INL_H_
#else
#define LOCUS_CORE_ENCODING_ANGLES_SIN_COS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "absl/types/span.h"
#include "core/encoding/angles/angles.h"
#include "core/simd/exp2-inl.h"
#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

constexpr int kLanes = Lanes<double>();

// Number of vectors of doubles that convert to one vector of T: 2 for float,
// except with one-lane vectors.
template <typename T>
constexpr int kPerVector = hn::MaxLanes(hn::ScalableTag<T>()) / kLanes;

// The exact rounding error a b - product, where product is a b rounded.
HWY_INLINE Vector<double> ProductError(Vector<double> a, Vector<double> b,
                                       Vector<double> product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  // Dekker's algorithm: split into halves of 26 bits, whose products are exact.
  const Vector<double> splitter = hn::Set(Tag<double>(), 0x1p27 + 1);
  const Vector<double> a_wide = hn::Mul(a, splitter);
  const Vector<double> b_wide = hn::Mul(b, splitter);
  const Vector<double> a_high = hn::Sub(a_wide, hn::Sub(a_wide, a));
  const Vector<double> b_high = hn::Sub(b_wide, hn::Sub(b_wide, b));
  const Vector<double> a_low = hn::Sub(a, a_high);
  const Vector<double> b_low = hn::Sub(b, b_high);
  Vector<double> error = hn::Sub(hn::Mul(a_high, b_high), product);
  error = hn::Add(error, hn::Mul(a_high, b_low));
  error = hn::Add(error, hn::Mul(a_low, b_high));
  return hn::Add(error, hn::Mul(a_low, b_low));
#endif
}

// A frequency in full rotations per position, in double-double precision.
struct Rotations {
  Vector<double> high;
  Vector<double> low;
};

HWY_INLINE Rotations RotationsOf(Vector<double> radians) {
  constexpr Tag<double> d;
  // 1 / (2 pi).
  const Vector<double> high = hn::Set(d, 0x1.45f306dc9c883p-3);
  const Vector<double> low = hn::Set(d, -0x1.6b01ec5417056p-57);
  const Vector<double> rotations = hn::Mul(radians, high);
  return {rotations,
          hn::MulAdd(radians, low, ProductError(radians, high, rotations))};
}

// Sines and cosines for kCount vectors of frequencies. Each step is done for
// all vectors before the next, which hides the latency of the dependency chain.
template <int kCount>
HWY_INLINE void SinCos(double position, const Rotations* frequencies,
                       Vector<double>* sin, Vector<double>* cos) {
  constexpr Tag<double> d;
  constexpr hn::RebindToUnsigned<Tag<double>> bits;
  const Vector<double> p = hn::Set(d, position);
  Vector<double> rest[kCount];
  for (int v = 0; v < kCount; ++v) {
    const Vector<double> rotations = hn::Mul(p, frequencies[v].high);
    const Vector<double> low = hn::MulAdd(
        p, frequencies[v].low, ProductError(p, frequencies[v].high, rotations));
    // Beyond 2^53 rotations, the low part contains whole rotations, too.
    rest[v] = hn::Add(hn::Sub(rotations, hn::Round(rotations)), low);
    rest[v] = hn::Sub(rest[v], hn::Round(rest[v]));
  }
  // Adding 1.5 * 2^52 leaves the nearest quarter rotation in the lowest bits.
  const Vector<double> large = hn::Set(d, 0x1.8p52);
  hn::Vec<decltype(bits)> quarter[kCount];
  Vector<double> x[kCount], x2[kCount];
  for (int v = 0; v < kCount; ++v) {
    const Vector<double> shifted = hn::MulAdd(rest[v], hn::Set(d, 4), large);
    quarter[v] = hn::BitCast(bits, shifted);
    rest[v] = hn::NegMulAdd(hn::Sub(shifted, large), hn::Set(d, 0.25), rest[v]);
    x[v] = hn::Mul(rest[v], hn::Set(d, 0x1.921fb54442d18p+2));
    x2[v] = hn::Mul(x[v], x[v]);
  }

  // Coefficients of fdlibm, accurate to 2^-57 on +-1/8 rotation.
  constexpr double kSin[] = {
      -2.50507602534068634195e-08, 2.75573137070700676789e-06,
      -1.98412698298579493134e-04, 8.33333333332248946124e-03,
      -1.66666666666666324348e-01};
  constexpr double kCos[] = {2.08757232129817482790e-09,
                             -2.75573143513906633035e-07,
                             2.48015872894767294178e-05,
                             -1.38888888888741095749e-03,
                             4.16666666666666019037e-02,
                             -0.5,
                             1.0};
  Vector<double> s[kCount], c[kCount];
  for (int v = 0; v < kCount; ++v) {
    s[v] = hn::Set(d, 1.58969099521155010221e-10);
    c[v] = hn::Set(d, -1.13596475577881948265e-11);
  }
  for (int i = 0; i < 7; ++i) {
    for (int v = 0; v < kCount; ++v) {
      if (i < 5) s[v] = hn::MulAdd(s[v], x2[v], hn::Set(d, kSin[i]));
      c[v] = hn::MulAdd(c[v], x2[v], hn::Set(d, kCos[i]));
    }
  }
  const auto sign = hn::Set(bits, uint64_t{1} << 63);
  for (int v = 0; v < kCount; ++v) {
    s[v] = hn::MulAdd(hn::Mul(x[v], x2[v]), s[v], x[v]);
    // In odd quarters, sine and cosine are swapped; the quarter determines the
    // signs.
    const auto swap = hn::MaskFromVec(hn::BitCast(
        d, hn::Sub(hn::Zero(bits), hn::And(quarter[v], hn::Set(bits, 1)))));
    const auto next = hn::Add(quarter[v], hn::Set(bits, 1));
    const auto sin_sign = hn::And(hn::ShiftLeft<62>(quarter[v]), sign);
    const auto cos_sign = hn::And(hn::ShiftLeft<62>(next), sign);
    sin[v] =
        hn::Xor(hn::IfThenElse(swap, c[v], s[v]), hn::BitCast(d, sin_sign));
    cos[v] =
        hn::Xor(hn::IfThenElse(swap, s[v], c[v]), hn::BitCast(d, cos_sign));
  }
}

// Converts two vectors of doubles to one vector of floats; with one-lane
// vectors, converts one.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Rounded(Vector<double> v) {
  return hn::DemoteTo(hn::Rebind<float, Tag<double>>(), v);
}
#else
HWY_INLINE hn::Vec<hn::ScalableTag<float>> Rounded(Vector<double> low,
                                                   Vector<double> high) {
  constexpr hn::Rebind<float, Tag<double>> half;
  return hn::Combine(hn::ScalableTag<float>(), hn::DemoteTo(half, high),
                     hn::DemoteTo(half, low));
}
#endif

// Loads kVectors vectors from numbers[first] on, padded with zeros past the
// end.
template <int kVectors>
HWY_INLINE void LoadPadded(absl::Span<const double> numbers, int64_t first,
                           Vector<double>* to) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const auto count = static_cast<int64_t>(numbers.size()) - first;
  const double* from = numbers.data() + first;
  HWY_ALIGN double padded[kWidth];
  if (count < kWidth) {
    std::fill(std::copy_n(from, count, padded), padded + kWidth, 0.0);
    from = padded;
  }
  for (int v = 0; v < kVectors; ++v) {
    to[v] = hn::LoadU(Tag<double>(), from + v * kLanes);
  }
}

// Loads kVectors vectors of frequencies from index `first` on.
template <int kVectors>
HWY_INLINE void LoadRotations(absl::Span<const double> frequencies,
                              int64_t first, Rotations* rotations) {
  Vector<double> radians[kVectors];
  LoadPadded<kVectors>(frequencies, first, radians);
  for (int v = 0; v < kVectors; ++v) rotations[v] = RotationsOf(radians[v]);
}

// e^(growth[k] distance) for the pairs k from `first` on.
template <int kVectors>
HWY_INLINE void GrowthFactors(absl::Span<const double> growth, int64_t first,
                              double distance, Vector<double>* factors) {
  constexpr Tag<double> d;
  constexpr double kLog2E = 1.4426950408889634;
  Vector<double> rates[kVectors];
  LoadPadded<kVectors>(growth, first, rates);
  for (int v = 0; v < kVectors; ++v) {
    factors[v] = Exp2Bounded<double>(
        hn::Mul(hn::Mul(rates[v], hn::Set(d, kLog2E)), hn::Set(d, distance)));
  }
}

// Factors of the sines and cosines at a position, for the pairs from `first`
// on.
template <typename T, int kVectors>
HWY_INLINE void Factors(const AngleTable<T>& table, int64_t first,
                        double position, Vector<double>* factors) {
  constexpr Tag<double> d;
  const Vector<double> factor = hn::Set(d, table.factor);
  if (table.growth.empty()) {
    for (int v = 0; v < kVectors; ++v) factors[v] = factor;
    return;
  }
  GrowthFactors<kVectors>(table.growth, first, position - table.centre,
                          factors);
  for (int v = 0; v < kVectors; ++v) factors[v] = hn::Mul(factors[v], factor);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_ENCODING_ANGLES_SIN_COS_INL_H_
