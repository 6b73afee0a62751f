// Multi-head self-attention over one sequence, forward and backward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/simd/matrix.h"
#include "core/simd/gemm.h"
#include "core/parallel/interruption.h"
#include "core/training/position_tables.h"

namespace locus {

// T is float or double. Keeps its scratch; one thread.
template <typename T>
class SelfAttention {
 public:
  SelfAttention(int64_t head_count, bool causal)
      : head_count_(head_count), causal_(causal) {}

  // qkv: [length, 3 dim], queries, keys and values side by side, which it
  // rotates and scales in place; output: [length, dim].
  // weights: [heads * length, length], kept for Backward; null: not kept.
  // window: queries see keys at a distance below it; 0: all.
  void Forward(const PositionTables<T>& positions, int64_t window,
               MatrixView<T> qkv, MatrixView<T> output, Matrix<T>* weights,
               Interruption* interruption);

  // From d_output to d_qkv, which is overwritten. `qkv` and `weights` are as
  // Forward left them. Biases' gradients are added to `gradient`.
  void Backward(const PositionTables<T>& positions, MatrixView<const T> qkv,
                const Matrix<T>& weights, MatrixView<const T> d_output,
                MatrixView<T> d_qkv,
                typename PositionTables<T>::Gradient* gradient,
                Interruption* interruption);

 private:
  // The keys that one query sees: from the first to before the second.
  std::pair<int64_t, int64_t> Seen(int64_t query, int64_t window,
                                   int64_t length) const {
    const int64_t end = causal_ ? query + 1 : length;
    if (window == 0) return {0, end};
    return {std::max<int64_t>(query - window + 1, 0),
            std::min(end, query + window)};
  }
  // The keys that rows [first, first + count) of queries see together.
  int64_t Visible(int64_t first, int64_t count, int64_t length) const {
    return causal_ ? first + count : length;
  }

  const int64_t head_count_;
  const bool causal_;
  Matrix<T> block_;
  PackedMatrix<T> keys_;
  PackedMatrix<T> values_;
};

}  // namespace locus
