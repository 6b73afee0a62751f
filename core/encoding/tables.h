// The tables of an encoding, and the encoding applied to an input.
//
// Work is divided by positions among the threads of a pool; what a thread
// computes does not depend on the division. Tables in single precision and
// inputs of at most that are computed in single precision, everything of
// FLOAT64 in double. Results that no cache holds are written past it.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "core/parallel/cancellation.h"
#include "core/base/positions.h"
#include "core/base/tensor.h"
#include "core/parallel/thread_pool.h"
#include "core/encoding/scheme.h"

namespace locus {

// What is common to one call. Input and output have the same shape and type;
// they are null if there is nothing to apply the encoding to.
struct FillCall {
  const Positions& positions;
  ThreadPool& pool;
  const StopCheck& stop;
  const TensorView* input = nullptr;
  Tensor* output = nullptr;
};

// table: [T, dim]; input: [..., T, dim].
absl::Status FillCode(const FillCall& call, const AdditiveCode& code,
                      Tensor& table);

// cos, sin: [T, pairs]; input: [..., T, dim].
absl::Status FillRotation(const FillCall& call, const Rotation& rotation,
                          Tensor& cos, Tensor& sin);

// table: [H, Tq, Tk], -inf where a causal bias has a key after its query;
// input: [..., H, Tq, Tk]. The call's positions are those of the queries.
absl::Status FillBias(const FillCall& call, const ScoreBias& bias,
                      const Positions& key_positions, Tensor& table);

// What they need besides, in bytes: for codes and rotations of that width, on
// each thread; for biases of those sizes, in all.
int64_t CodeScratchBytes(int64_t width);
int64_t BiasScratchBytes(int64_t head_count, const Positions& positions,
                         const Positions& key_positions, int thread_count);

}  // namespace locus
