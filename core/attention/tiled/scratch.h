// Working memory of one thread, kept from block to block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/attention/tiled/tile.h"
#include "core/simd/aligned_buffer.h"

namespace locus {

// At least `bytes` bytes, aligned for any vector, of this thread's own. What it
// held before is gone; it is valid until this thread asks again.
char* ThreadScratch(int64_t bytes);

// Gives back what only a giant head needed; keeps what an ordinary one takes.
void TrimThreadScratch();

// Hands out pieces of the thread's scratch, each aligned for any vector.
template <typename T>
class ScratchArena {
 public:
  explicit ScratchArena(const AttentionProblem& problem)
      : next_(ThreadScratch(BlockScratchBytes(problem))) {}

  T* Take(int64_t count) {
    T* const piece = reinterpret_cast<T*>(next_);
    next_ += RoundUp(count * static_cast<int64_t>(sizeof(T)),
                     AlignedBuffer<char>::kAlignment);
    return piece;
  }

 private:
  char* next_;
};

}  // namespace locus
