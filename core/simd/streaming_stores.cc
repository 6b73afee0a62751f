#include "core/simd/streaming_stores.h"

#include <algorithm>
#include <cstring>

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/simd/streaming_stores.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Copies with streaming stores. The unaligned bytes at both ends of the target
// are copied with memcpy().
void CopyStreaming(const uint8_t* source, int64_t bytes, uint8_t* target) {
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t kBytes = hn::MaxLanes(hn::ScalableTag<uint8_t>());
  const int64_t unaligned = std::min(
      bytes, -static_cast<int64_t>(reinterpret_cast<uintptr_t>(target)) &
                 (kBytes - 1));
  std::memcpy(target, source, unaligned);
  int64_t i = unaligned;
  for (; i + kBytes <= bytes; i += kBytes) {
    hn::Stream(hn::LoadU(d, source + i), d, target + i);
  }
  std::memcpy(target + i, source + i, bytes - i);
  hwy::FlushStream();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(CopyStreaming);

void Copy(const void* source, int64_t bytes, void* target, StorePolicy policy) {
  if (bytes <= 0) return;
  if (policy == StorePolicy::kStreaming) {
    HWY_DYNAMIC_DISPATCH(CopyStreaming)
    (static_cast<const uint8_t*>(source), bytes, static_cast<uint8_t*>(target));
  } else {
    std::memcpy(target, source, bytes);
  }
}

}  // namespace locus
#endif  // HWY_ONCE
