#include "core/base/tensor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {
namespace {
constexpr size_t kMaxRank = 8;
// Max product of the non-zero extents of an empty tensor. No data limits these
// extents, and a loop over one of them must end in reasonable time.
constexpr int64_t kMaxEmptyExtent = int64_t{1} << 24;

// Whether the tensor is empty and its non-zero extents multiply to more than
// kMaxEmptyExtent.
bool HasExcessiveExtents(const Shape& shape, int64_t count) {
  if (count > 0) return false;
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent == 0) continue;
    if (extent > kMaxEmptyExtent / product) return true;
    product *= extent;
  }
  return false;
}

}  // namespace

int64_t TensorView::element_count() const { return *ElementCount(shape); }

absl::StatusOr<TensorView> MakeTensorView(DType dtype, Shape shape,
                                          absl::string_view bytes) {
  if (shape.size() > kMaxRank) {
    return InvalidField(
        "shape", absl::StrCat("has ", shape.size(), " axes; at most ", kMaxRank,
                              " are allowed"));
  }
  const auto count = ElementCount(shape);
  const auto size =
      count.has_value() ? CheckedMul(*count, SizeOf(dtype)) : std::nullopt;
  if (!size.has_value()) {
    return InvalidField("shape",
                        absl::StrCat("is ", ToString(shape),
                                     "; extents must not be negative and their "
                                     "product must fit into 63 bits"));
  }
  if (HasExcessiveExtents(shape, *count)) {
    return InvalidField("shape",
                        absl::StrCat("is ", ToString(shape),
                                     "; the extents of an empty tensor must "
                                     "multiply to at most ",
                                     kMaxEmptyExtent, " besides its zeros"));
  }
  if (static_cast<uint64_t>(*size) != bytes.size()) {
    return InvalidField(
        "data",
        absl::StrCat("has ", bytes.size(), " bytes; shape ", ToString(shape),
                     " of ", NameOf(dtype), " takes ", *size));
  }
  return TensorView{dtype, std::move(shape), bytes.data()};
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      bytes_(*ElementCount(shape_) * SizeOf(dtype)) {}

Tensor Tensor::Zeros(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  std::fill_n(tensor.at(0), tensor.byte_count(), '\0');
  return tensor;
}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_), shape_(other.shape_) {
  if (other.bytes_.get() == nullptr) return;
  bytes_ = AlignedBuffer<char>(byte_count());
  std::copy_n(other.bytes_.get(), byte_count(), at(0));
}

Tensor& Tensor::operator=(const Tensor& other) { return *this = Tensor(other); }

int64_t Tensor::element_count() const { return *ElementCount(shape_); }

}  // namespace locus
