// Memory by the megabyte, straight from the system and in huge pages.
//
// A page of 4 KiB costs a fault when it is first touched, and faults cost more
// than the bytes: 32 MiB take 24 ms to fill for the first time and 3 ms ever
// after (two cores of a virtual machine, Linux 6.18). In huge pages the first
// time takes 3.4 ms, so nothing needs to be kept from call to call: what is
// freed is the system's again. A system without huge pages gives ordinary ones.
#pragma once

#include <cstddef>

namespace locus {

// From here on it is worth it: one huge page.
inline constexpr size_t kLargeBlockBytes = size_t{2} << 20;

// Uninitialised, aligned to a huge page. Throws std::bad_alloc.
void* AllocateLargeBlock(size_t bytes);
void FreeLargeBlock(void* data, size_t bytes);

// Asks for huge pages where they fit into memory that is someone else's.
void PreferHugePages(void* data, size_t bytes);

}  // namespace locus
