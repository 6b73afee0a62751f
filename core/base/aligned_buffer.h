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

 private:
  struct Free {
    void operator()(T* data) const {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace locus
