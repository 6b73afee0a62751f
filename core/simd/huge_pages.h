// Large buffers want huge pages, and core knows no system to ask for them.
//
// A page of 4 KiB costs a fault when it is first touched, and faults cost more
// than the bytes: 32 MiB take 24 ms to fill for the first time and 3 ms ever
// after (two cores of a virtual machine, Linux 6.18). In huge pages the first
// time takes 3.4 ms. Whoever runs core may therefore say how to ask for them;
// until then memory is what the allocator gives.
#pragma once

#include <cstddef>

namespace locus {

// The usual size of a huge page; a buffer in whole pages of this size has no
// other page in it.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
// From here on glibc takes memory from the system for each buffer, and gives it
// back with it. Smaller ones are used again.
inline constexpr size_t kHugeBufferBytes = size_t{32} << 20;

// Called for every new buffer of kHugeBufferBytes and more, before its owner
// touches it.
using AskForHugePages = void (*)(void* data, size_t bytes);

// For the whole process; null: nobody asks. Thread-safe.
void SetAskForHugePages(AskForHugePages ask);

// Uninitialised, in whole huge pages. Throws std::bad_alloc.
void* AllocateHugeBuffer(size_t bytes);
void FreeHugeBuffer(void* data);

}  // namespace locus
