// Dense row-major tensors: read-only views and owned buffers.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/dtype.h"
#include "core/base/shape.h"
#include "core/simd/aligned_buffer.h"

namespace locus {

// A read-only view of a tensor. The bytes usually belong to a message; they
// must outlive the view and may have any alignment.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  const char* data = nullptr;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  // The extent of an axis. Negative axes count from the end: -1 is the last.
  int64_t extent(int axis) const {
    return shape[axis < 0 ? axis + shape.size() : axis];
  }
  // The product of the extents. MakeTensorView() has checked that it fits.
  int64_t element_count() const;
  const char* at(int64_t element) const {
    return data + element * SizeOf(dtype);
  }
};

// Returns a view of `bytes`, or INVALID_ARGUMENT (field `shape` or `data`) if
// an extent is negative, there are more than 8 axes, the non-zero extents of an
// empty tensor are too large, or the size of `bytes` does not match the shape.
absl::StatusOr<TensorView> MakeTensorView(DType dtype, Shape shape,
                                          absl::string_view bytes);

// An owned tensor, aligned for vector instructions. Its elements are
// uninitialised and the code that creates it must write all of them: zeroing a
// large result first can cost as much as computing it.
class Tensor {
 public:
  Tensor() = default;
  // An uninitialised tensor. The caller has checked that the element count does
  // not overflow and has reserved memory for it.
  Tensor(DType dtype, Shape shape);
  // A tensor of zeros, for callers that write only some of the elements.
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
  // Moves the bytes out of the tensor, which is left without data.
  AlignedBuffer<char> TakeBytes() { return std::move(bytes_); }

 private:
  DType dtype_ = DType::kFloat32;
  Shape shape_;
  AlignedBuffer<char> bytes_;
};

}  // namespace locus
