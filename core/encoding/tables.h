// Computes the tables of an encoding and applies the encoding to an input.
//
// Work is divided by position among the threads of a pool; results do not
// depend on the division. FLOAT64 tables and inputs are computed in double
// precision, all others in single precision. Results larger than the cache are
// written with streaming stores.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/encoding/scheme.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// Arguments common to the Fill functions. Input and output must have the same
// shape and type; both are null if there is no input to apply the encoding to.
struct FillCall {
  const Positions& positions;
  ThreadPool& pool;
  const CancellationCheck& stop;
  const TensorView* input = nullptr;
  Tensor* output = nullptr;
};

// Fills the table [T, dim] of a code and adds it to the input [..., T, dim].
// Fails only if the call is cancelled.
absl::Status FillCode(const FillCall& call, const AdditiveCode& code,
                      Tensor& table);

// Fills the tables cos and sin [T, pairs] of a rotation and rotates the input
// [..., T, dim]. Fails only if the call is cancelled.
absl::Status FillRotation(const FillCall& call, const Rotation& rotation,
                          Tensor& cos, Tensor& sin);

// Fills the table [H, Tq, Tk] of a bias and adds it to the input
// [..., H, Tq, Tk]. A causal bias is -inf for keys after their query. The
// call's positions are those of the queries. Fails only if the call is
// cancelled.
absl::Status FillBias(const FillCall& call, const ScoreBias& bias,
                      const Positions& key_positions, Tensor& table);

// Scratch memory per thread of FillCode() and FillRotation(), in bytes.
int64_t CodeScratchBytes(int64_t width);
// Total scratch memory of FillBias(), in bytes.
int64_t BiasScratchBytes(int64_t head_count, const Positions& positions,
                         const Positions& key_positions, int thread_count);

}  // namespace locus
