#include "server/base/allocator.h"

#include <sys/mman.h>

#include "core/simd/huge_pages.h"
#ifdef LOCUS_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace locus::server {

void PrepareAllocator() {
  SetAskForHugePages(&PreferHugePages);
#ifdef LOCUS_TCMALLOC
  // It would give back what the next large call takes again.
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
  // What it gave back beyond an earlier wish counts for this one.
  if (excess_bytes() > 0) allocator->ReleaseFreeMemory();
#endif
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
