// Conversion of query and key weights between the two layouts of RoPE.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

struct LayoutChange {
  // True converts interleaved to half-split, false half-split to interleaved.
  bool to_half_split = false;
  int64_t head_count = 0;
  // Number of rotated channels at the start of each head; 0 means all.
  int64_t rotary_dim = 0;
  // The axis of the channels of all heads; negative axes count from the last.
  int64_t axis = 0;
};

// Permutes the channels of every head: channels 2k and 2k + 1 move to k and
// k + rotary_dim / 2, or back. The tensor must have passed CheckTensor().
// Returns INVALID_ARGUMENT if the sizes do not match.
absl::Status ChangeLayout(const LayoutChange& change, v1::Tensor* tensor);

}  // namespace locus::client
