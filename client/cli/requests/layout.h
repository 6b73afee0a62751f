// Weights of queries and keys between RoPE's layouts.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "locus/v1/tensor.pb.h"

namespace locus::client {

struct LayoutChange {
  // From neighbouring channels to halves, or back.
  bool to_halves = false;
  int64_t head_count = 0;
  // Of each head, from its first channel on; 0: all of it.
  int64_t rotary_dim = 0;
  // The one that the heads' channels lie along; negative ones count from the
  // last.
  int64_t axis = 0;
};

// Permutes the channels of every head: 2k and 2k + 1 become k and k +
// rotary_dim / 2, or the other way round. The tensor has passed CheckTensor.
// INVALID_ARGUMENT says what does not fit.
absl::Status ChangeLayout(const LayoutChange& change, v1::Tensor* tensor);

}  // namespace locus::client
