#include "core/simd/huge_pages.h"

#include <atomic>
#include <cstdint>
#include <new>

namespace locus {
namespace {
std::atomic<HugePageAdvisor> ask_for_huge_pages{nullptr};
}  // namespace

void SetHugePageAdvisor(HugePageAdvisor ask) { ask_for_huge_pages = ask; }

void* AllocateHugeBuffer(size_t bytes) {
  if (bytes > SIZE_MAX - kHugePageBytes) throw std::bad_alloc();
  const size_t pages = (bytes + kHugePageBytes - 1) / kHugePageBytes;
  void* const data =
      ::operator new(pages* kHugePageBytes, std::align_val_t(kHugePageBytes));
  if (const HugePageAdvisor ask = ask_for_huge_pages) {
    ask(data, pages * kHugePageBytes);
  }
  return data;
}

void FreeHugeBuffer(void* data) {
  ::operator delete(data, std::align_val_t(kHugePageBytes));
}

}  // namespace locus
