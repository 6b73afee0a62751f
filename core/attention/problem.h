// The input of the attention kernels: one validated forward pass.
//
// Kernels work with rotations, score biases, intervals of visible keys and
// masks; they never refer to a scheme by name. AttentionJob::Create() has
// validated an AttentionProblem: shapes agree, options are finite, and sizes do
// not overflow.
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

// Half-open interval [begin, end) of key indices.
struct KeyInterval {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
};

// A mask with one stride per axis, in elements. The stride of a broadcast axis
// is 0.
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
  // The term that the mask adds to the score of query i and key j. A bool mask
  // yields 0 for true and -inf for false.
  double At(int64_t b, int64_t h, int64_t i, int64_t j) const;
};

// Sizes, inputs, options and compiled scheme of one forward pass. Shapes of
// tensors are written with B = batch_count, Hq = query_head_count,
// Hkv = key_head_count, Tq = query_count, Tk = key_count, D = dim and
// Dv = value_dim. Indices are b (batch), h (query head), i (query), j (key).
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
  // Type of the returned weights and log_sum_exp: float32 or float64.
  DType wide_dtype = DType::kFloat32;
  // Type that the kernels compute in: wide_dtype, or float64 if intermediate
  // results of a rotation would overflow float32.
  DType kernel_dtype = DType::kFloat32;

  bool causal = false;
  int64_t query_offset = 0;
  int64_t window = 0;  // 0 if there is no window
  double scale = 1;
  double softcap = 0;  // 0 if scores are not capped
  std::optional<Mask> mask;
  bool return_weights = false;
  bool return_log_sum_exp = false;

  Positions query_positions;
  Positions key_positions;
  std::optional<Rotation> rotation;
  std::unique_ptr<ScoreBias> bias;

  // The key head of a query head (grouped-query attention).
  int64_t KeyHead(int64_t query_head) const {
    return query_head / (query_head_count / key_head_count);
  }

  // Index of the first element of a row of q, k, v or the output.
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
  // Index of a query among all queries: its element of log_sum_exp and its row
  // of weights.
  int64_t QueryIndex(int64_t b, int64_t h, int64_t i) const {
    return (b * query_head_count + h) * query_count + i;
  }

  // The keys that causality and window leave visible to query i, a subinterval
  // of [0, key_count). Neither end decreases as i grows.
  KeyInterval VisibleKeys(int64_t i) const {
    const int64_t index = query_offset + i;
    int64_t begin = 0;
    int64_t end = key_count;
    if (causal) end = std::min(end, index + 1);
    if (window > 0) {
      begin = std::clamp(index - window + 1, begin, key_count);
      end = std::min(end, index + window);
    }
    return {begin, std::max(begin, end)};
  }
};

// Reference implementation: evaluates the definition of attention in double
// precision, one score at a time.
void AttendReference(const AttentionProblem& problem, AttentionOutputs& out);

// FlashAttention-style tiled kernel with online softmax; see
// core/attention/tiled/tile.h. Uses all threads of the pool.
absl::Status AttendTiled(const AttentionProblem& problem, ThreadPool& pool,
                         const CancellationCheck& stop, AttentionOutputs& out);
// Upper bound of the memory that AttendTiled() allocates.
int64_t TiledScratchBytes(const AttentionProblem& problem, int thread_count);

// Split-KV decoding (Flash-Decoding) for few queries; see
// core/attention/split_kv/split_kv.h. Uses all threads of the pool.
absl::Status AttendSplitKv(const AttentionProblem& problem, ThreadPool& pool,
                           const CancellationCheck& stop,
                           AttentionOutputs& out);
// Upper bound of the memory that AttendSplitKv() allocates.
int64_t SplitKvScratchBytes(const AttentionProblem& problem, int thread_count);
// Whether split-KV decoding is faster than the tiled kernel for this problem.
bool ShouldSplitKv(const AttentionProblem& problem);

}  // namespace locus
