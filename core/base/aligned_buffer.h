// Memory that any vector instruction can load from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace locus {

// An uninitialised array of `count` numbers, aligned to 128 bytes.
template <typename T>
class AlignedBuffer {
 public:
  static constexpr int64_t kAlignment = 128;

  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t count)
      : data_(static_cast<T*>(
            ::operator new(static_cast<size_t>(count) * sizeof(T),
                           std::align_val_t(kAlignment)))) {}

  T* get() const { return data_.get(); }

  // Hands the array to someone else, who gives it to Free in the end.
  T* Release() { return data_.release(); }
  static void Free(void* data) {
    ::operator delete(data, std::align_val_t(kAlignment));
  }

 private:
  struct Deleter {
    void operator()(T* data) const { Free(data); }
  };
  std::unique_ptr<T, Deleter> data_;
};

}  // namespace locus
