#include "core/attention/tiled/scratch.h"

#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Larger scratch memory is freed after a block.
constexpr int64_t kMaxKeptBytes = int64_t{4} << 20;

struct Buffer {
  AlignedBuffer<char> bytes;
  int64_t size = 0;
};

Buffer& ThreadBuffer() {
  thread_local Buffer buffer;
  return buffer;
}

}  // namespace

char* ThreadScratch(int64_t bytes) {
  Buffer& buffer = ThreadBuffer();
  if (bytes > buffer.size) {
    buffer = Buffer();  // frees the old memory before it allocates
    buffer = Buffer{AlignedBuffer<char>(bytes), bytes};
  }
  return buffer.bytes.get();
}

void TrimThreadScratch() {
  Buffer& buffer = ThreadBuffer();
  if (buffer.size > kMaxKeptBytes) buffer = Buffer();
}

}  // namespace locus
