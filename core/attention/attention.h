// The forward pass of multi-head attention over projected heads.
//
//   output = softmax(mask(softcap(scale q k') + bias)) v
//
// Query i has index query_offset + i and key j has index j. The indices decide
// causality and the sliding window; they are also the positions passed to the
// scheme unless query_positions or key_positions are set. A score is scaled,
// soft-capped, biased and masked, in this order. The output of a query without
// visible keys is zero. Keys and values that a query cannot see never affect
// its output, even if they contain NaN.
//
// Two kernels implement the pass: a FlashAttention-style tiled kernel with
// online softmax (core/attention/tiled) and, for few queries, split-KV
// decoding (core/attention/split_kv). Both need memory linear in the sequence
// length, and their results are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

struct AttentionInputs {
  TensorView q;  // [B, Hq, Tq, D]
  TensorView k;  // [B, Hkv, Tk, D]; query head h uses key head h / (Hq / Hkv)
  TensorView v;  // [B, Hkv, Tk, Dv]
};

struct AttentionOptions {
  // Hides keys with a larger index than the query.
  bool causal = false;
  // Index of the first query. Default: 0.
  std::optional<int64_t> query_offset;
  // Aligns the last query with the last key: query_offset = Tk - Tq. Must not
  // be combined with query_offset.
  bool bottom_right = false;
  // Hides keys whose index differs from the query's by `window` or more.
  // 0 disables the window.
  int64_t window = 0;
  // Factor of the dot products. Default: 1 / sqrt(D).
  std::optional<double> scale;
  // Replaces a scaled score s by softcap * tanh(s / softcap). 0 disables it.
  double softcap = 0;
  // Broadcast to [B, Hq, Tq, Tk] from the right. In a bool mask, true means
  // visible. A floating-point mask is added to the scores; -inf hides the key.
  std::optional<TensorView> mask;
  // Positions passed to the scheme, Tq and Tk of them. Default: the indices.
  std::optional<Positions> query_positions;
  std::optional<Positions> key_positions;
  bool return_weights = false;
  bool return_log_sum_exp = false;
};

struct AttentionOutputs {
  Tensor output;                      // [B, Hq, Tq, Dv], type of the inputs
  std::optional<Tensor> weights;      // [B, Hq, Tq, Tk], float or double
  std::optional<Tensor> log_sum_exp;  // [B, Hq, Tq], float or double
};

struct AttentionProblem;

// A validated forward pass that can be sized before it is run. Creating a job
// allocates nothing large, so that callers can reserve output_bytes() and
// scratch_bytes() first. Immutable after creation, and therefore thread-safe.
class AttentionJob {
 public:
  // Returns INVALID_ARGUMENT if shapes, types or options are invalid; errors
  // name fields of the AttendRequest message. The data of the inputs and of the
  // mask must outlive the job.
  static absl::StatusOr<AttentionJob> Create(const Scheme& scheme,
                                             const AttentionInputs& inputs,
                                             AttentionOptions options);
  AttentionJob(AttentionJob&&) noexcept;
  AttentionJob& operator=(AttentionJob&&) noexcept;
  ~AttentionJob();

  // Size of the tensors that Run() returns.
  int64_t output_bytes() const;
  // Upper bound of the memory that Run() allocates in addition to its result.
  int64_t scratch_bytes(int thread_count) const;
  // Number of multiplications and additions: 2 (D + Dv) for each pair of a
  // query and a key that causality and window leave visible.
  double flops() const;

  // Computes the pass on all threads of the pool. Polls `stop` every few tiles;
  // its status is the only error that Run() returns.
  absl::StatusOr<AttentionOutputs> Run(ThreadPool& pool,
                                       const CancellationCheck& stop) const;

  // Reference implementation: evaluates the definition in double precision, one
  // score at a time. Slow; tests compare the kernels with it.
  AttentionOutputs RunReference() const;

 private:
  AttentionJob();
  AttentionOutputs AllocateOutputs() const;

  std::unique_ptr<AttentionProblem> problem_;
};

}  // namespace locus
