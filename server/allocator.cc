#include "server/allocator.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "core/base/huge_pages.h"
#include "server/process_metrics.h"

namespace locus::server {

void PrepareAllocator() {
  SetAskForHugePages(&PreferHugePages);
  // The largest that glibc takes.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(kKeptBytes));
  // Each arena keeps its own, and what one kept is of no use to another: eight
  // for each processor, the default, take long to warm up.
  mallopt(M_ARENA_MAX,
          std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
}

void TrimFreedMemory(int64_t used_bytes) {
  if (ResidentBytes() > used_bytes + kKeptBytes) malloc_trim(0);
}

void PreferHugePages(void* data, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first =
      (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const uintptr_t last = (start + bytes) / kHugePageBytes * kHugePageBytes;
  // Where this fails there are none, and ordinary pages do.
  if (first < last) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
}

}  // namespace locus::server
