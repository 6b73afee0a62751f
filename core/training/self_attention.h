// Multi-head self-attention over one sequence, forward and backward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/parallel/cancellation.h"
#include "core/simd/gemm.h"
#include "core/simd/matrix.h"
#include "core/training/position_tables.h"

namespace locus {

// T is float or double. Reuses its scratch memory between calls; for use by one
// thread. After a cancellation, outputs are incomplete.
template <typename T>
class SelfAttention {
 public:
  SelfAttention(int64_t head_count, bool causal)
      : head_count_(head_count), causal_(causal) {}

  // Computes attention. qkv: [length, 3 dim] holds queries, keys and values
  // side by side; queries and keys are rotated, and queries scaled, in place.
  // output: [length, dim]. weights: [heads * length, length] receives the
  // attention weights that Backward() needs, and may be null. With a `window`
  // other than 0, queries attend to keys at distances below it.
  void Forward(const PositionTables<T>& positions, int64_t window,
               MatrixView<T> qkv, MatrixView<T> output, Matrix<T>* weights,
               PeriodicCheck* periodic_check);

  // Computes d_qkv, which is overwritten, from d_output. `qkv` and `weights`
  // must be as Forward() left them. Adds the gradients of biases to `gradient`.
  void Backward(const PositionTables<T>& positions, MatrixView<const T> qkv,
                const Matrix<T>& weights, MatrixView<const T> d_output,
                MatrixView<T> d_qkv,
                typename PositionTables<T>::Gradient* gradient,
                PeriodicCheck* periodic_check);

 private:
  // Range [begin, end) of the keys that one query attends to.
  std::pair<int64_t, int64_t> VisibleKeys(int64_t query, int64_t window,
                                          int64_t length) const {
    const int64_t end = causal_ ? query + 1 : length;
    if (window == 0) return {0, end};
    return {std::max<int64_t>(query - window + 1, 0),
            std::min(end, query + window)};
  }
  // End of the keys that any of the queries [first, first + count) attends to.
  int64_t VisibleEnd(int64_t first, int64_t count, int64_t length) const {
    return causal_ ? first + count : length;
  }

  const int64_t head_count_;
  const bool causal_;
  Matrix<T> block_;
  PackedMatrix<T> keys_;
  PackedMatrix<T> values_;
};

}  // namespace locus
