// Stores of vectors, through the cache or past it. To be included by files that
// are compiled once for each instruction set.
#if defined(LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_
#undef LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_
#else
#define LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Whether vectors may be written past the cache to every address that lies a
// multiple of `step` bytes from `target`.
HWY_INLINE bool IsAligned(const void* target, int64_t step) {
  constexpr uint64_t kBytes =
      hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<uint8_t>());
  return (reinterpret_cast<uintptr_t>(target) | static_cast<uint64_t>(step)) %
             kBytes ==
         0;
}

// With kPast, `to` is aligned.
template <bool kPast, class D, class V>
HWY_INLINE void Put(D d, V v, hwy::HWY_NAMESPACE::TFromD<D>* to) {
  if constexpr (kPast) {
    hwy::HWY_NAMESPACE::Stream(v, d, to);
  } else {
    hwy::HWY_NAMESPACE::StoreU(v, d, to);
  }
}

// a[0], b[0], a[1], b[1], ...
template <bool kPast, class D, class V>
HWY_INLINE void PutAlternating(D d, V a, V b,
                               hwy::HWY_NAMESPACE::TFromD<D>* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kPast) {
    // Compilers see through the array.
    constexpr size_t kLanes = hn::MaxLanes(D());
    HWY_ALIGN hn::TFromD<D> both[2 * kLanes];
    hn::StoreInterleaved2(a, b, d, both);
    hn::Stream(hn::Load(d, both), d, to);
    hn::Stream(hn::Load(d, both + kLanes), d, to + kLanes);
  } else {
    hn::StoreInterleaved2(a, b, d, to);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_
