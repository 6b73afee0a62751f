// Allocation of large buffers in huge pages.
//
// The first write to each 4 KiB page causes a page fault, and for large buffers
// the faults cost more than the writes (docs/adr/0005-tcmalloc.md).
//
// core makes no system calls, so the application installs a function that
// requests huge pages, for example with madvise(). Without one, buffers use the
// allocator's default pages.
#pragma once

#include <cstddef>

namespace locus {

// Default huge page size on x86-64 and AArch64. Large buffers are aligned to it
// and are multiples of it, so that they share no page with other data.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
// Minimum size of a buffer in huge pages. From this size on, glibc maps each
// buffer separately and unmaps it when it is freed, so that every allocation
// faults again; smaller blocks are reused.
inline constexpr size_t kHugeBufferBytes = size_t{32} << 20;

// Requests huge pages for a new buffer. Called once for each buffer of
// kHugeBufferBytes or more, before its first use.
using HugePageAdvisor = void (*)(void* data, size_t bytes);

// Installs the request function for the whole process; null removes it.
// Thread-safe.
void SetHugePageAdvisor(HugePageAdvisor ask);

// Allocates uninitialised memory, rounded up to whole huge pages. Throws
// std::bad_alloc.
void* AllocateHugeBuffer(size_t bytes);
// Frees a buffer that AllocateHugeBuffer() returned.
void FreeHugeBuffer(void* data);

}  // namespace locus
