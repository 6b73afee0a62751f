// Short names for Highway's vector types.
//
// Included once per instruction set; see core/simd/simd.h.
#if defined(LOCUS_CORE_SIMD_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_SIMD_SIMD_INL_H_
#undef LOCUS_CORE_SIMD_SIMD_INL_H_
#else
#define LOCUS_CORE_SIMD_SIMD_INL_H_
#endif

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The largest vector of T on this instruction set: its tag, its type and its
// number of lanes.
template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;

template <typename T>
constexpr int64_t Lanes() {
  return static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
