// Allocator settings of the process: retention of freed memory, and huge pages.
//
// locusd uses tcmalloc, because glibc returns the memory of every large message
// to the system, which costs a page fault per 4 KiB when the next message
// arrives. The server keeps up to kKeptBytes of freed memory after a large call
// and returns the rest (docs/adr/0005-tcmalloc.md). Sanitizer builds use the
// sanitizer's allocator, which manages freed memory itself.
//
// All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace locus::server {

// Max freed memory that the process keeps for later calls. Enough for most
// buffers of a call with messages of 32 MiB.
inline constexpr int64_t kKeptBytes = int64_t{80} << 20;

// Configures the allocator of the process. Call it once, at the start.
void PrepareAllocator();

// Returns freed memory above kKeptBytes to the system. Large calls do this when
// they end.
void TrimFreedMemory();

// Requests huge pages for all aligned huge pages within the buffer `data`.
void PreferHugePages(void* data, size_t bytes);

}  // namespace locus::server
