#include "core/attention/scratch.h"

#include "core/base/aligned_buffer.h"

namespace locus {
namespace {

// What an ordinary head takes is kept; what a giant one took is given back when
// the next block of ordinary size comes along.
constexpr int64_t kKeptBytes = int64_t{4} << 20;

struct Buffer {
  AlignedBuffer<char> bytes;
  int64_t size = 0;
};

}  // namespace

char* ThreadScratch(int64_t bytes) {
  thread_local Buffer buffer;
  const bool oversized = buffer.size > kKeptBytes && bytes <= kKeptBytes;
  if (bytes > buffer.size || oversized) {
    buffer.bytes = AlignedBuffer<char>(bytes);
    buffer.size = bytes;
  }
  return buffer.bytes.get();
}

}  // namespace locus
