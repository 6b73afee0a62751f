// Streaming (non-temporal) stores for large results.
#pragma once

#include <cstdint>

namespace locus {

// How a result is written to memory. Results that are read again soon should
// stay in the cache (kCached). For results larger than the cache, kStreaming
// uses non-temporal stores, which avoid reading each cache line before it is
// overwritten and are up to twice as fast.
enum class StorePolicy { kCached, kStreaming };

// The faster policy for a result of that size.
inline StorePolicy StorePolicyFor(int64_t bytes) {
  constexpr int64_t kLargerThanCaches = int64_t{16} << 20;
  return bytes >= kLargerThanCaches ? StorePolicy::kStreaming
                                    : StorePolicy::kCached;
}

// memcpy() with a store policy. Source and target may have any alignment and
// must not overlap.
void Copy(const void* source, int64_t bytes, void* target, StorePolicy policy);

}  // namespace locus
