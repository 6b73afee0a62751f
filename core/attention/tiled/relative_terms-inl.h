// Vectorised RelativeTerm(): score terms relative to a reference.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_RELATIVE_TERMS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_RELATIVE_TERMS_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_RELATIVE_TERMS_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_RELATIVE_TERMS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/score_terms.h"
#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Stores a vector of doubles as doubles or, rounded, as floats.
HWY_INLINE void StoreRounded(Vector<double> v, double* to) {
  hn::StoreU(v, Tag<double>(), to);
}
HWY_INLINE void StoreRounded(Vector<double> v, float* to) {
#if HWY_TARGET == HWY_SCALAR  // DemoteTo would turn -inf into the lowest float
  *to = static_cast<float>(hn::GetLane(v));
#else
  constexpr hn::Rebind<float, Tag<double>> d;
  hn::StoreU(hn::DemoteTo(d, v), d, to);
#endif
}

// RelativeTerm<T>() of a vector of terms, computed in type C. Clamps by
// comparison instead of Max, so that NaN stays NaN.
template <typename T, typename C>
HWY_INLINE Vector<C> RelativeTo(Vector<C> reference, Vector<C> term) {
  constexpr Tag<C> d;
  const auto lowest =
      hn::Set(d, static_cast<C>(std::numeric_limits<T>::lowest()));
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  const auto relative =
      hn::Mul(hn::Sub(term, reference), hn::Set(d, static_cast<C>(kLog2E)));
  const auto is_visible = hn::Ne(term, hidden);
  return hn::IfThenElse(hn::And(is_visible, hn::Lt(relative, lowest)), lowest,
                        relative);
}

// RelativeTerm<T>() of each of `count` terms.
template <typename T>
HWY_INLINE void RelativeTerms(const double* terms, int64_t count,
                              double reference, T* to) {
  constexpr Tag<double> d;
  int64_t n = 0;
  for (; n + Lanes<double>() <= count; n += Lanes<double>()) {
    const auto term = hn::LoadU(d, terms + n);
    StoreRounded(RelativeTo<T, double>(hn::Set(d, reference), term), to + n);
  }
  for (; n < count; ++n) to[n] = RelativeTerm<T>(terms[n], reference);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
