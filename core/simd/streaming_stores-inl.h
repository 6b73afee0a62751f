// Vector stores with a compile-time choice between cached and streaming.
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
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

// Whether `target` and all addresses at multiples of `step` bytes from it are
// aligned for streaming stores.
HWY_INLINE bool IsAligned(const void* target, int64_t step) {
  constexpr uint64_t kBytes =
      hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<uint8_t>());
  return (reinterpret_cast<uintptr_t>(target) | static_cast<uint64_t>(step)) %
             kBytes ==
         0;
}

// Stores a vector. With kStreaming, `to` must be aligned to the vector size.
template <bool kStreaming, class D, class V>
HWY_INLINE void StoreVector(D d, V v, hwy::HWY_NAMESPACE::TFromD<D>* to) {
  if constexpr (kStreaming) {
    hwy::HWY_NAMESPACE::Stream(v, d, to);
  } else {
    hwy::HWY_NAMESPACE::StoreU(v, d, to);
  }
}

// Stores a[0], b[0], a[1], b[1], ... With kStreaming, `to` must be aligned to
// the vector size.
template <bool kStreaming, class D, class V>
HWY_INLINE void StoreInterleaved(D d, V a, V b,
                                 hwy::HWY_NAMESPACE::TFromD<D>* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kStreaming) {
    // Compilers keep this array in registers.
    constexpr size_t kVectorLanes = hn::MaxLanes(D());
    HWY_ALIGN hn::TFromD<D> both[2 * kVectorLanes];
    hn::StoreInterleaved2(a, b, d, both);
    hn::Stream(hn::Load(d, both), d, to);
    hn::Stream(hn::Load(d, both + kVectorLanes), d, to + kVectorLanes);
  } else {
    hn::StoreInterleaved2(a, b, d, to);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif  // LOCUS_CORE_SIMD_STREAMING_STORES_INL_H_
