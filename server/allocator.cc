#include "server/allocator.h"

#include <malloc.h>

#include <algorithm>
#include <thread>

#include "server/process_metrics.h"

namespace locus::server {

void KeepFreedMemory() {
  // The largest that glibc takes; larger blocks are mapped one by one.
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

}  // namespace locus::server
