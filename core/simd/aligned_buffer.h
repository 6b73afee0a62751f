// Memory that any vector instruction can load from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "core/simd/huge_pages.h"

namespace locus {

// An uninitialised array of `count` numbers, aligned to 128 bytes. Large ones
// lie in huge pages where there are any.
template <typename T>
class AlignedBuffer {
 public:
  static constexpr int64_t kAlignment = 128;

  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count)
      : data_(Allocate(static_cast<size_t>(count) * sizeof(T)),
              Deleter{static_cast<size_t>(count) * sizeof(T)}) {}

  T* get() const { return data_.get(); }

  // Hands the array to someone else, who gives it to Free in the end, with its
  // size.
  T* Release() { return data_.release(); }
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
