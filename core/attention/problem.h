// One forward pass, checked and in the terms that kernels understand.
//
// A kernel knows rotations, biases, intervals of visible keys and masks. It
// never names a scheme. Everything here has been validated: shapes agree,
// numbers are finite, sizes do not overflow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/attention/attention.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"

namespace locus {

// The keys a query can see before any mask: first .. last - 1.
struct KeyInterval {
  int64_t first = 0;
  int64_t last = 0;
  bool empty() const { return first >= last; }
};

// A mask with a stride, in elements, for each axis; 0 where it is broadcast.
struct Mask {
  TensorView tensor;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t query_stride = 0;
  int64_t key_stride = 0;

  int64_t Element(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return b * batch_stride + h * head_stride + i * query_stride +
           j * key_stride;
  }
  // What to add to a score: 0 or -inf for a bool.
  double At(int64_t b, int64_t h, int64_t i, int64_t j) const;
};

struct AttentionProblem {
  int64_t batch_count = 0;
  int64_t query_head_count = 0;
  int64_t key_head_count = 0;
  int64_t query_count = 0;
  int64_t key_count = 0;
  int64_t dim = 0;
  int64_t value_dim = 0;

  AttentionInputs inputs;
  DType dtype = DType::kFloat32;
  // Of weights and log_sum_exp.
  DType wide_dtype = DType::kFloat32;
  // What kernels compute in: the same, unless numbers on the way to a score do
  // not fit into it.
  DType kernel_dtype = DType::kFloat32;

  bool causal = false;
  int64_t query_offset = 0;
  int64_t window = 0;  // 0: none
  double scale = 1;
  double softcap = 0;  // 0: none
  std::optional<Mask> mask;
  bool return_weights = false;
  bool return_log_sum_exp = false;

  Positions query_positions;
  Positions key_positions;
  std::optional<Rotation> rotation;
  std::unique_ptr<ScoreBias> bias;

  int64_t KeyHead(int64_t query_head) const {
    return query_head / (query_head_count / key_head_count);
  }

  // The first element of a row of q, k, v or the output.
  int64_t QueryRow(int64_t b, int64_t h, int64_t i) const {
    return ((b * query_head_count + h) * query_count + i) * dim;
  }
  int64_t KeyRow(int64_t b, int64_t key_head, int64_t j) const {
    return ((b * key_head_count + key_head) * key_count + j) * dim;
  }
  int64_t ValueRow(int64_t b, int64_t key_head, int64_t j) const {
    return ((b * key_head_count + key_head) * key_count + j) * value_dim;
  }
  int64_t OutputRow(int64_t b, int64_t h, int64_t i) const {
    return ((b * query_head_count + h) * query_count + i) * value_dim;
  }
  // The element of log_sum_exp, and times key_count the row of weights.
  int64_t QueryIndex(int64_t b, int64_t h, int64_t i) const {
    return (b * query_head_count + h) * query_count + i;
  }

  // Within the keys there are, and empty where there is none to see. Both ends
  // grow with i.
  KeyInterval VisibleKeys(int64_t i) const {
    const int64_t place = query_offset + i;
    int64_t first = 0;
    int64_t last = key_count;
    if (causal) last = std::min(last, place + 1);
    if (window > 0) {
      first = std::clamp(place - window + 1, first, key_count);
      last = std::min(last, place + window);
    }
    return {first, std::max(first, last)};
  }
};

// The definition, in double precision, one score at a time.
void AttendReference(const AttentionProblem& problem, AttentionOutputs& out);

// In tiles, with an online softmax, on every thread of the pool.
absl::Status AttendTiled(const AttentionProblem& problem, ThreadPool& pool,
                         const StopCheck& stop, AttentionOutputs& out);
// What AttendTiled allocates, in bytes.
int64_t TiledScratchBytes(const AttentionProblem& problem, int thread_count);

}  // namespace locus
