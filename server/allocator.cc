#include "server/allocator.h"

#include <sys/mman.h>

#include "core/base/huge_pages.h"
#include "server/process_metrics.h"
#ifdef LOCUS_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace locus::server {
namespace {

int64_t ExcessBytes(int64_t used_bytes) {
  return ResidentBytes() - used_bytes - kKeptBytes;
}

}  // namespace

void PrepareAllocator() {
  SetAskForHugePages(&PreferHugePages);
  ResidentBytes();  // as long as there are descriptors
#ifdef LOCUS_TCMALLOC
  // It would give back what the next large call takes again.
  MallocExtension::instance()->SetMemoryReleaseRate(0);
#endif
}

void TrimFreedMemory(int64_t used_bytes) {
  const int64_t excess_bytes = ExcessBytes(used_bytes);
  if (excess_bytes <= 0) return;
#ifdef LOCUS_TCMALLOC
  auto* const allocator = MallocExtension::instance();
  allocator->ReleaseToSystem(static_cast<size_t>(excess_bytes));
  // What it gave back beyond an earlier wish counts for this one.
  if (ExcessBytes(used_bytes) > 0) allocator->ReleaseFreeMemory();
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
