#include "server/base/allocator.h"

#include <sys/mman.h>

#include "core/simd/huge_pages.h"
#ifdef LOCUS_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace locus::server {

void PrepareAllocator() {
  SetHugePageAdvisor(&PreferHugePages);
#ifdef LOCUS_TCMALLOC
  // Disables the gradual release of free memory: the next large call would
  // request the same memory again.
  MallocExtension::instance()->SetMemoryReleaseRate(0);
#endif
}

void TrimFreedMemory() {
#ifdef LOCUS_TCMALLOC
  auto* const allocator = MallocExtension::instance();
  const auto excess_bytes = [&] {
    size_t free_bytes = 0;
    allocator->GetNumericProperty("tcmalloc.pageheap_free_bytes", &free_bytes);
    return static_cast<int64_t>(free_bytes) - kKeptBytes;
  };
  const int64_t excess = excess_bytes();
  if (excess <= 0) return;
  allocator->ReleaseToSystem(static_cast<size_t>(excess));
  // tcmalloc releases whole spans and credits any surplus to the next request,
  // so that ReleaseToSystem() may release nothing.
  if (excess_bytes() > 0) allocator->ReleaseFreeMemory();
#endif
}

void PreferHugePages(void* data, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first =
      (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const uintptr_t last = (start + bytes) / kHugePageBytes * kHugePageBytes;
  // An error is ignored: without huge pages, default pages are used.
  if (first < last) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
}

}  // namespace locus::server
