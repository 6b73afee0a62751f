#include "core/training/self_attention.h"

#include <algorithm>
#include <cmath>

#include "core/training/layer_ops.h"

namespace locus {
namespace {

// Number of queries in one block of scores.
constexpr int64_t kQueryBlock = 48;

// Floating-point operations of the scores of a block and its weighted sums of
// values.
double BlockFlops(int64_t queries, int64_t keys, int64_t dim) {
  return 4.0 * static_cast<double>(queries) * static_cast<double>(keys) *
         static_cast<double>(dim);
}

// Views of one head's queries, keys and values in the rows of all heads.
template <typename T>
struct Head {
  Head(MatrixView<T> qkv, int64_t head, int64_t head_count)
      : dim(qkv.columns / 3 / head_count),
        q(qkv.Columns(head * dim, dim)),
        k(qkv.Columns((head_count + head) * dim, dim)),
        v(qkv.Columns((2 * head_count + head) * dim, dim)) {}

  int64_t dim;
  MatrixView<T> q;
  MatrixView<T> k;
  MatrixView<T> v;
};

}  // namespace

template <typename T>
void SelfAttention<T>::Forward(const PositionTables<T>& positions,
                               int64_t window, MatrixView<T> qkv,
                               MatrixView<T> output, Matrix<T>* weights,
                               PeriodicCheck* periodic_check) {
  const LayerOps<T>& ops = GetLayerOps<T>();
  const int64_t length = qkv.rows;
  if (weights != nullptr) weights->Resize(head_count_ * length, length);
  for (int64_t h = 0; h < head_count_; ++h) {
    const Head<T> head(qkv, h, head_count_);
    const T scale = T(1) / std::sqrt(static_cast<T>(head.dim));
    for (int64_t i = 0; i < length; ++i) {
      if (positions.rotates()) {
        positions.Rotate(i, head.q.row(i), head.k.row(i));
      }
      for (int64_t c = 0; c < head.dim; ++c) head.q.row(i)[c] *= scale;
    }
    keys_.PackTransposed(head.k);
    values_.Pack(head.v);
    for (int64_t first = 0; first < length; first += kQueryBlock) {
      const int64_t count = std::min(kQueryBlock, length - first);
      const int64_t key_end = VisibleEnd(first, count, length);
      if (periodic_check->After(BlockFlops(count, key_end, head.dim))) return;
      const MatrixView<T> p = weights == nullptr
                                  ? block_.Resize(count, key_end)
                                  : weights->view()
                                        .Rows(h * length + first, count)
                                        .Columns(0, key_end);
      Multiply<T>(head.q.Rows(first, count), keys_, p);
      for (int64_t r = 0; r < count; ++r) {
        const auto [start, end] = VisibleKeys(first + r, window, length);
        const T* const bias = positions.BiasRow(h, first + r);
        ops.Softmax(p.row(r) + start, bias == nullptr ? nullptr : bias + start,
                    end - start);
        std::fill(p.row(r), p.row(r) + start, T(0));
        std::fill(p.row(r) + end, p.row(r) + key_end, T(0));
      }
      Multiply<T>(p, values_,
                  output.Rows(first, count).Columns(h * head.dim, head.dim));
    }
  }
}

template <typename T>
void SelfAttention<T>::Backward(const PositionTables<T>& positions,
                                MatrixView<const T> qkv,
                                const Matrix<T>& weights,
                                MatrixView<const T> d_output,
                                MatrixView<T> d_qkv,
                                typename PositionTables<T>::Gradient* gradient,
                                PeriodicCheck* periodic_check) {
  const LayerOps<T>& ops = GetLayerOps<T>();
  const int64_t length = qkv.rows;
  for (int64_t i = 0; i < length; ++i) {
    std::fill_n(d_qkv.row(i), d_qkv.columns, T(0));
  }
  for (int64_t h = 0; h < head_count_; ++h) {
    const Head<const T> head(qkv, h, head_count_);
    const Head<T> d_head(d_qkv, h, head_count_);
    const T scale = T(1) / std::sqrt(static_cast<T>(head.dim));
    keys_.Pack(head.k);
    values_.PackTransposed(head.v);
    for (int64_t first = 0; first < length; first += kQueryBlock) {
      const int64_t count = std::min(kQueryBlock, length - first);
      const int64_t key_end = VisibleEnd(first, count, length);
      if (periodic_check->After(2.5 * BlockFlops(count, key_end, head.dim))) {
        return;
      }
      const MatrixView<const T> p =
          weights.view().Rows(h * length + first, count).Columns(0, key_end);
      const MatrixView<const T> d_out =
          d_output.Rows(first, count).Columns(h * head.dim, head.dim);
      AddTransposedProduct<T>(p, d_out, d_head.v.Rows(0, key_end));
      const MatrixView<T> d_scores = block_.Resize(count, key_end);
      Multiply<T>(d_out, values_, d_scores);
      for (int64_t r = 0; r < count; ++r) {
        // Weights of hidden keys are zero, and so are their gradients.
        ops.SoftmaxBackward(p.row(r), d_scores.row(r), key_end);
        if (positions.learns_bias()) {
          ops.Add(d_scores.row(r), positions.BiasRow(gradient, h, first + r),
                  causal_ ? first + r + 1 : length);
        }
      }
      Multiply<T>(d_scores, keys_, d_head.q.Rows(first, count));
      AddTransposedProduct<T>(d_scores, head.q.Rows(first, count),
                              d_head.k.Rows(0, key_end));
    }
    for (int64_t i = 0; i < length; ++i) {
      for (int64_t c = 0; c < head.dim; ++c) d_head.q.row(i)[c] *= scale;
      if (positions.rotates()) {
        positions.RotateBackward(i, d_head.q.row(i), d_head.k.row(i));
      }
    }
  }
}

template class SelfAttention<float>;
template class SelfAttention<double>;

}  // namespace locus
