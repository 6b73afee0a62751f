// The attention forward pass over heads.
//
//   output = softmax(scale q k' + bias, masked) v
//
// Query i stands at query_offset + i and key j at j, which decides causality
// and window, and the positions that the scheme sees unless ids are given. A
// score is scaled, soft-capped, biased and masked, in this order. A query that
// sees no key yields zeros. Values of keys that a query does not see have no
// influence on it, NaNs included.
//
// Memory beyond inputs and outputs grows linearly with the sequence. Results
// are the same to the bit for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "core/parallel/cancellation.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"

namespace locus {

struct AttentionInputs {
  TensorView q;  // [B, Hq, Tq, D]
  TensorView k;  // [B, Hkv, Tk, D]; query head h uses key head h / (Hq / Hkv)
  TensorView v;  // [B, Hkv, Tk, Dv]
};

struct AttentionOptions {
  bool causal = false;
  // Unset: 0.
  std::optional<int64_t> query_offset;
  // Instead: query_offset = Tk - Tq, the last query at the last key.
  bool bottom_right = false;
  // 0: none.
  int64_t window = 0;
  // Unset: 1 / sqrt(D).
  std::optional<double> scale;
  // 0: none.
  double softcap = 0;
  // Broadcast to [B, Hq, Tq, Tk] from the right. Bool: true is visible.
  // Floating point: added to the scores, -inf hides.
  std::optional<TensorView> mask;
  std::optional<Positions> query_positions;
  std::optional<Positions> key_positions;
  bool return_weights = false;
  bool return_log_sum_exp = false;
};

struct AttentionOutputs {
  Tensor output;                      // [B, Hq, Tq, Dv], of the inputs' type
  std::optional<Tensor> weights;      // [B, Hq, Tq, Tk], float or double
  std::optional<Tensor> log_sum_exp;  // [B, Hq, Tq], float or double
};

struct AttentionProblem;

// A forward pass that is checked and sized, but has allocated nothing large.
class AttentionJob {
 public:
  // Field paths in errors are those of the contract's AttendRequest. The bytes
  // of the inputs and of the mask must outlive the job.
  static absl::StatusOr<AttentionJob> Create(const Scheme& scheme,
                                             const AttentionInputs& inputs,
                                             AttentionOptions options);
  AttentionJob(AttentionJob&&) noexcept;
  AttentionJob& operator=(AttentionJob&&) noexcept;
  ~AttentionJob();

  // What Run returns, and what it needs besides on so many threads, in bytes.
  int64_t output_bytes() const;
  int64_t scratch_bytes(int thread_count) const;
  // 4 Tq Tk D multiplications and additions, less what structure excludes.
  double flops() const;

  // Only fails as `stop` says, which is asked every few tiles.
  absl::StatusOr<AttentionOutputs> Run(ThreadPool& pool,
                                       const StopCheck& stop) const;

  // The same by the definition, in double precision, one score at a time: the
  // twin that tests hold the kernel to.
  AttentionOutputs RunReference() const;

 private:
  AttentionJob();
  AttentionOutputs AllocateOutputs() const;

  std::unique_ptr<AttentionProblem> problem_;
};

}  // namespace locus
