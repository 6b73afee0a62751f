#include "server/allocator.h"

#include <sys/mman.h>

#include "core/base/huge_pages.h"
#include "server/process_metrics.h"
#ifdef LOCUS_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace locus::server {
namespace {

void GiveBack(int64_t bytes) {
#ifdef LOCUS_TCMALLOC
  MallocExtension::instance()->ReleaseToSystem(static_cast<size_t>(bytes));
#endif
}

}  // namespace

void PrepareAllocator() {
  SetAskForHugePages(&PreferHugePages);
#ifdef LOCUS_TCMALLOC
  // It would give back what the next large call takes again.
  MallocExtension::instance()->SetMemoryReleaseRate(0);
#endif
}

void TrimFreedMemory(int64_t used_bytes) {
  const int64_t excess_bytes = ResidentBytes() - used_bytes - kKeptBytes;
  if (excess_bytes > 0) GiveBack(excess_bytes);
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
