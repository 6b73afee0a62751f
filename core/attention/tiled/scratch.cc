#include "core/attention/tiled/scratch.h"

#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

constexpr int64_t kKeptBytes = int64_t{4} << 20;

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
    buffer = Buffer();  // not both at once
    buffer = Buffer{AlignedBuffer<char>(bytes), bytes};
  }
  return buffer.bytes.get();
}

void TrimThreadScratch() {
  Buffer& buffer = ThreadBuffer();
  if (buffer.size > kKeptBytes) buffer = Buffer();
}

}  // namespace locus
