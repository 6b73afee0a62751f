#include "core/base/large_block.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace locus {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

size_t RoundUpToHugePage(size_t bytes) {
  return (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
}

}  // namespace

void* AllocateLargeBlock(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHugePageBytes) throw std::bad_alloc();
  // A huge page more than needed, so that an aligned block is among it; what
  // lies before and after goes back.
  const size_t size = RoundUpToHugePage(bytes);
  const size_t mapped_size = size + kHugePageBytes;
  void* const mapped = mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const size_t before = RoundUpToHugePage(reinterpret_cast<uintptr_t>(mapped)) -
                        reinterpret_cast<uintptr_t>(mapped);
  const size_t after = kHugePageBytes - before;
  char* const block = static_cast<char*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  if (after > 0) munmap(block + size, after);
  PreferHugePages(block, size);
  return block;
}

void FreeLargeBlock(void* data, size_t bytes) {
  if (data != nullptr) munmap(data, RoundUpToHugePage(bytes));
}

void PreferHugePages(void* data, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = RoundUpToHugePage(start);
  const uintptr_t last = (start + bytes) & ~(kHugePageBytes - 1);
  // Where this fails there are none, and ordinary pages do.
  if (first < last) {
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
#endif
}

}  // namespace locus
