// Scratch memory that each thread keeps between blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/attention/tiled/tile.h"
#include "core/simd/aligned_buffer.h"

namespace locus {

// Returns at least `bytes` bytes of memory of the calling thread, aligned for
// any vector. The contents are undefined. The memory stays valid until the
// thread calls ThreadScratch() or TrimThreadScratch() again.
char* ThreadScratch(int64_t bytes);

// Frees the scratch memory of the calling thread if it is unusually large.
void TrimThreadScratch();

// Bump allocator over the scratch memory of the calling thread. All arrays are
// aligned for any vector and share the lifetime of the scratch memory.
template <typename T>
class ScratchArena {
 public:
  explicit ScratchArena(const AttentionProblem& problem)
      : next_(ThreadScratch(BlockScratchBytes(problem))) {}

  T* Allocate(int64_t count) {
    T* const array = reinterpret_cast<T*>(next_);
    next_ += RoundUp(count * static_cast<int64_t>(sizeof(T)),
                     AlignedBuffer<char>::kAlignment);
    return array;
  }

 private:
  char* next_;
};

}  // namespace locus
