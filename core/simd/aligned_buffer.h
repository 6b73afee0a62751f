// Aligned, uninitialised memory for vector code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/simd/huge_pages.h"

namespace locus {

// Owns an uninitialised array of `count` elements of type T, aligned to 128
// bytes so that any vector instruction can load from it. Arrays of
// kHugeBufferBytes or more are allocated in whole huge pages (see
// core/simd/huge_pages.h). Movable, not copyable. Allocation throws
// std::bad_alloc.
template <typename T>
class AlignedBuffer {
 public:
  static constexpr int64_t kAlignment = 128;

  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count)
      : data_(Allocate(static_cast<size_t>(count) * sizeof(T)),
              Deleter{static_cast<size_t>(count) * sizeof(T)}) {}

  T* get() const { return data_.get(); }

  // Gives up ownership of the array. The caller must pass it to Free(), with
  // its size in bytes.
  T* Release() { return data_.release(); }
  // Frees an array that Release() returned; `bytes` is its size.
  static void Free(void* data, size_t bytes) {
    if (bytes >= kHugeBufferBytes) {
      FreeHugeBuffer(data);
    } else {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  }

 private:
  struct Deleter {
    size_t bytes = 0;
    void operator()(T* data) const { Free(data, bytes); }
  };

  static T* Allocate(size_t bytes) {
    return static_cast<T*>(
        bytes >= kHugeBufferBytes
            ? AllocateHugeBuffer(bytes)
            : ::operator new(bytes, std::align_val_t(kAlignment)));
  }

  std::unique_ptr<T, Deleter> data_;
};

}  // namespace locus
