#include "core/base/tensor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {
namespace {
constexpr size_t kMaxRank = 8;
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
      bytes_(*ElementCount(shape_) * SizeOf(dtype), '\0') {}

int64_t Tensor::element_count() const { return *ElementCount(shape_); }

TensorView Tensor::view() const {
  return TensorView{dtype_, shape_, bytes_.data()};
}

}  // namespace locus
