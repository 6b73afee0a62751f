// Terms relative to another, many at a time.
//
// Included once for each target; see core/base/simd.h.
#if defined(LOCUS_CORE_ATTENTION_RELATIVE_TERMS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_RELATIVE_TERMS_INL_H_
#undef LOCUS_CORE_ATTENTION_RELATIVE_TERMS_INL_H_
#else
#define LOCUS_CORE_ATTENTION_RELATIVE_TERMS_INL_H_
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/added_terms.h"
#include "core/base/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

HWY_INLINE void StoreRounded(Vector<double> v, double* to) {
  hn::StoreU(v, Tag<double>(), to);
}
HWY_INLINE void StoreRounded(Vector<double> v, float* to) {
  constexpr hn::Rebind<float, Tag<double>> d;
  hn::StoreU(hn::DemoteTo(d, v), d, to);
}

// RelativeTerm of each of `count` terms.
template <typename T>
HWY_INLINE void RelativeTerms(const double* terms, int64_t count, double shift,
                              T* to) {
  constexpr Tag<double> d;
  const auto lowest =
      hn::Set(d, static_cast<double>(std::numeric_limits<T>::lowest()));
  const auto hidden = hn::Set(d, -std::numeric_limits<double>::infinity());
  int64_t n = 0;
  // One number at a time, Highway makes the lowest float of -inf.
  const int64_t end = HWY_TARGET == HWY_SCALAR ? 0 : count;
  for (; n + Lanes<double>() <= end; n += Lanes<double>()) {
    const auto term = hn::LoadU(d, terms + n);
    const auto relative =
        hn::Mul(hn::Sub(term, hn::Set(d, shift)), hn::Set(d, kLog2E));
    StoreRounded(
        hn::IfThenElse(hn::Eq(term, hidden), hidden, hn::Max(lowest, relative)),
        to + n);
  }
  for (; n < count; ++n) to[n] = RelativeTerm<T>(terms[n], shift);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
