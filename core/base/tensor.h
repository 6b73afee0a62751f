// Dense row-major arrays, owned by whoever holds the bytes.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/simd/aligned_buffer.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace locus {

// A tensor to read. The bytes belong to someone else (usually a message), live
// longer than the view, and have no particular alignment.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  const char* data = nullptr;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  // The extent of an axis; negative axes count from the last one.
  int64_t extent(int axis) const {
    return shape[axis < 0 ? axis + shape.size() : axis];
  }
  // The product of the extents, which MakeTensorView has checked.
  int64_t element_count() const;
  const char* at(int64_t element) const {
    return data + element * SizeOf(dtype);
  }
};

// A view of `bytes`, or INVALID_ARGUMENT if an extent is negative, there are
// more than 8 axes, an empty tensor has absurd extents, or the size is not
// exactly that of the elements. Fields in the error are `shape` and `data`.
absl::StatusOr<TensorView> MakeTensorView(DType dtype, Shape shape,
                                          absl::string_view bytes);

// A tensor to write, aligned for any vector. Whoever makes one writes every
// element: filling a large result with zeros first would cost as much as many a
// kernel takes to compute it.
class Tensor {
 public:
  Tensor() = default;
  // Uninitialised. The element count must have been checked and reserved.
  Tensor(DType dtype, Shape shape);
  // For those who write only some of the elements.
  static Tensor Zeros(DType dtype, Shape shape);
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t element_count() const;
  int64_t byte_count() const { return element_count() * SizeOf(dtype_); }
  char* at(int64_t element) { return bytes_.get() + element * SizeOf(dtype_); }
  TensorView view() const { return {dtype_, shape_, bytes_.get()}; }
  // Gives the bytes away.
  AlignedBuffer<char> TakeBytes() { return std::move(bytes_); }

 private:
  DType dtype_ = DType::kFloat32;
  Shape shape_;
  AlignedBuffer<char> bytes_;
};

}  // namespace locus
