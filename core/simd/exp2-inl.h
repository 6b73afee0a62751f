// Vectorised 2^x.
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_SIMD_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_SIMD_EXP2_INL_H_
#undef LOCUS_CORE_SIMD_EXP2_INL_H_
#else
#define LOCUS_CORE_SIMD_EXP2_INL_H_
#endif

#include <hwy/highway.h>

#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// 2^x for x in [-1/2, 1/2], as a polynomial. In single precision: the
// polynomial of degree 5 with the smallest relative error, 9.2e-8, among those
// with the value 1 at 0. In double precision: the Taylor series to degree 13,
// with the coefficients ln(2)^n / n!.
template <typename T>
HWY_INLINE Vector<T> Exp2OfFraction(Vector<T> x) {
  constexpr Tag<T> d;
  constexpr bool kSingle = sizeof(T) == 4;
  constexpr double kSingleTerms[] = {1.0,
                                     0.6931469775987162,
                                     0.24022242084635037,
                                     0.05550733743573974,
                                     0.009671512688155026,
                                     0.001326472724724661};
  constexpr double kDoubleTerms[] = {1.0,
                                     6.9314718055994530942e-1,
                                     2.4022650695910071233e-1,
                                     5.5504108664821579953e-2,
                                     9.6181291076284771620e-3,
                                     1.3333558146428443423e-3,
                                     1.5403530393381609954e-4,
                                     1.5252733804059840280e-5,
                                     1.3215486790144309488e-6,
                                     1.0178086009239699728e-7,
                                     7.0549116208011233299e-9,
                                     4.4455382718708114976e-10,
                                     2.5678435993488205142e-11,
                                     1.3691488853904128881e-12};
  const double* const terms = kSingle ? kSingleTerms : kDoubleTerms;
  constexpr int kLast = kSingle ? 5 : 13;
  auto power = hn::Set(d, static_cast<T>(terms[kLast]));
  for (int n = kLast - 1; n >= 0; --n) {
    power = hn::MulAdd(power, x, hn::Set(d, static_cast<T>(terms[n])));
  }
  return power;
}

// 2^x for x <= 120 (T = float) or x <= 1000 (T = double), to about one unit in
// the last place. Where 2^x is below the smallest normal number, the result is
// between 0 and about that number. The result for NaN and for larger x is
// unspecified.
template <typename T>
HWY_INLINE Vector<T> Exp2Bounded(Vector<T> x) {
  constexpr Tag<T> d;
  constexpr hn::RebindToSigned<Tag<T>> di;
  constexpr bool kSingle = sizeof(T) == 4;
  const auto bounded = hn::Max(x, hn::Set(d, T(kSingle ? -125 : -1021)));
  // Adding the magic number leaves round(x) in the lowest mantissa bits.
  const auto magic = hn::Set(d, T(kSingle ? 0x1.8p23 : 0x1.8p52));
  const auto shifted = hn::Add(bounded, magic);
  const auto rest = hn::Sub(bounded, hn::Sub(shifted, magic));
  const auto exponent =
      hn::ShiftLeft < kSingle ? 23 : 52 > (hn::BitCast(di, shifted));
  return hn::BitCast(
      d, hn::Add(hn::BitCast(di, Exp2OfFraction<T>(rest)), exponent));
}

#if HWY_TARGET == HWY_AVX3

// x - round(x), and 0 for infinite x; a single AVX-512 instruction.
HWY_INLINE Vector<float> Fraction(Vector<float> x) {
  return {_mm512_reduce_ps(x.raw, 0)};
}
HWY_INLINE Vector<double> Fraction(Vector<double> x) {
  return {_mm512_reduce_pd(x.raw, 0)};
}
// x * 2^power with underflow to 0 and overflow to infinity; a single AVX-512
// instruction.
HWY_INLINE Vector<float> TimesPowerOfTwo(Vector<float> x, Vector<float> power) {
  return {_mm512_scalef_ps(x.raw, power.raw)};
}
HWY_INLINE Vector<double> TimesPowerOfTwo(Vector<double> x,
                                          Vector<double> power) {
  return {_mm512_scalef_pd(x.raw, power.raw)};
}

// 2^x for any x, to about one unit in the last place. NaN stays NaN.
template <typename T>
HWY_INLINE Vector<T> Exp2(Vector<T> x) {
  const auto rest = Fraction(x);
  return TimesPowerOfTwo(Exp2OfFraction<T>(rest), hn::Sub(x, rest));
}

// 2^x where the caller accepts any huge value for overflow and for NaN. With
// AVX-512 the exact Exp2() costs nothing extra.
template <typename T>
HWY_INLINE Vector<T> Exp2OrHuge(Vector<T> x) {
  return Exp2<T>(x);
}

#else

// 2^x for x <= 0, including -inf; 0 where the result would not be a normal
// number. NaN stays NaN.
template <typename T>
HWY_INLINE Vector<T> Exp2(Vector<T> x) {
  constexpr Tag<T> d;
  const auto vanishes = hn::Lt(x, hn::Set(d, T(sizeof(T) == 4 ? -125 : -1021)));
  return hn::IfThenElse(hn::IsNaN(x), x,
                        hn::IfThenZeroElse(vanishes, Exp2Bounded<T>(x)));
}

// 2^x where the caller accepts any huge value for overflow and for NaN. Results
// below the smallest normal number become about that number. x above 120
// (T = float) or 1000 (T = double) yields 2^120 or 2^1000; NaN yields the same
// or NaN.
template <typename T>
HWY_INLINE Vector<T> Exp2OrHuge(Vector<T> x) {
  // If x is NaN, Min() returns its second operand on x86.
  constexpr T kMaxExponent = sizeof(T) == 4 ? 120 : 1000;
  return Exp2Bounded<T>(hn::Min(x, hn::Set(Tag<T>(), kMaxExponent)));
}

#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
