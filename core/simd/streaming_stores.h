// How results reach memory.
#pragma once

#include <cstdint>

namespace locus {

// What is read again soon should stay in the cache. What is larger than the
// cache would only pass through it: each line is first fetched, then
// overwritten, then written back. Past the cache it is written once, at up to
// twice the speed.
enum class Writes { kThroughCache, kPastCache };

// What writing that much is best done with.
inline Writes WritesFor(int64_t bytes) {
  constexpr int64_t kLargerThanCaches = int64_t{16} << 20;
  return bytes >= kLargerThanCaches ? Writes::kPastCache
                                    : Writes::kThroughCache;
}

// Copies bytes of any alignment that do not overlap.
void Copy(const void* source, int64_t bytes, void* target, Writes writes);

}  // namespace locus
