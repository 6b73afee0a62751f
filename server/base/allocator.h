// How much freed memory the process keeps for the next call, and in what pages.
//
// By itself glibc gives the memory of every large message back to the system
// and takes it anew for the next one, a page fault for each 4 KiB, which costs
// more than to copy it (see core/simd/huge_pages.h). And gRPC takes and frees
// dozens of small pieces for a call, here on one thread and there on another.
// So memory comes from tcmalloc, which keeps what is freed, but no more than
// kKeptBytes once calls are done. Sanitizers bring an allocator of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace locus::server {

// Most of what messages of 32 MiB need finds its pages there.
inline constexpr int64_t kKeptBytes = int64_t{80} << 20;

// For the whole process, at its start.
void PrepareAllocator();

// Gives freed memory beyond kKeptBytes back. Large calls ask for it when they
// end.
void TrimFreedMemory();

// Asks for huge pages wherever they fit into the memory.
void PreferHugePages(void* data, size_t bytes);

}  // namespace locus::server
