#include "client/cli/requests/layout.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

absl::Status Check(const LayoutChange& change, int64_t axis,
                   const v1::Tensor& tensor) {
  if (axis < 0 || axis >= tensor.shape_size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--axis is ", change.axis, "; the tensor is ", ShapeName(tensor)));
  }
  const int64_t channels = tensor.shape(static_cast<int>(axis));
  if (change.head_count < 1 || channels % change.head_count != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--heads is ", change.head_count, "; ", channels,
                     " channels cannot be divided evenly"));
  }
  const int64_t dim = channels / change.head_count;
  const int64_t rotary_dim = change.rotary_dim == 0 ? dim : change.rotary_dim;
  if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rotary-dim is ", rotary_dim,
                     "; must be even and from 2 to the head dimension ", dim));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ChangeLayout(const LayoutChange& change, v1::Tensor* tensor) {
  const int64_t axis =
      change.axis < 0 ? change.axis + tensor->shape_size() : change.axis;
  if (const absl::Status checked = Check(change, axis, *tensor);
      !checked.ok()) {
    return checked;
  }
  const int64_t channels = tensor->shape(static_cast<int>(axis));
  const int64_t dim = channels / change.head_count;
  const int64_t rotary_dim = change.rotary_dim == 0 ? dim : change.rotary_dim;
  // The number of indices before the axis, and the bytes of one channel.
  int64_t before = 1;
  for (int64_t n = 0; n < axis; ++n) {
    before *= tensor->shape(static_cast<int>(n));
  }
  int64_t bytes = ElementSize(tensor->dtype());
  for (int64_t n = axis + 1; n < tensor->shape_size(); ++n) {
    bytes *= tensor->shape(static_cast<int>(n));
  }
  const std::string from = tensor->data();
  std::string& to = *tensor->mutable_data();
  for (int64_t head = 0; head < before * change.head_count; ++head) {
    for (int64_t pair = 0; pair < rotary_dim / 2; ++pair) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t interleaved = head * dim + 2 * pair + half;
        const int64_t half_split = head * dim + pair + half * rotary_dim / 2;
        const int64_t target = change.to_half_split ? half_split : interleaved;
        const int64_t source = change.to_half_split ? interleaved : half_split;
        to.replace(target * bytes, bytes, from, source * bytes, bytes);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::client
