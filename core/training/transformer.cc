#include "core/training/transformer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/training/layer_ops.h"

namespace locus {
namespace {

int64_t TokenCount(absl::Span<const Example> examples) {
  int64_t count = 0;
  for (const Example& e : examples) {
    count += static_cast<int64_t>(e.tokens.size());
  }
  return count;
}

// Calls body(index among all targets, index among all tokens, target) for each
// target.
template <typename Body>
void ForEachTarget(absl::Span<const Example> examples, Body body) {
  int64_t first = 0;
  int64_t n = 0;
  for (const Example& e : examples) {
    for (const Target& target : e.targets)
      body(n++, first + target.index, target);
    first += static_cast<int64_t>(e.tokens.size());
  }
}

template <typename T>
void CopyRows(MatrixView<const T> from, MatrixView<T> to) {
  for (int64_t i = 0; i < from.rows; ++i) {
    std::copy_n(from.row(i), from.columns, to.row(i));
  }
}

// c = a b or c += a b, in blocks of rows between which cancellation is polled.
template <typename T>
void MultiplyRows(MatrixView<const T> a, const PackedMatrix<T>& b,
                  MatrixView<T> c, Accumulate into,
                  PeriodicCheck* periodic_check) {
  constexpr int64_t kRows = 1020;  // a multiple of tiles of 6 and of 12 rows
  for (int64_t first = 0; first < a.rows; first += kRows) {
    const int64_t count = std::min(kRows, a.rows - first);
    if (periodic_check->After(2.0 * static_cast<double>(count) *
                              static_cast<double>(a.columns) *
                              static_cast<double>(c.columns))) {
      return;
    }
    Multiply<T>(a.Rows(first, count), b, c.Rows(first, count), into);
  }
}

}  // namespace

double TransformerShape::ForwardFlops(int64_t length) const {
  const double t = static_cast<double>(length);
  const double d = static_cast<double>(dim);
  const double f = static_cast<double>(feed_forward_dim);
  const double per_token = 2 * (4 * d * d + 2 * d * f);
  const double attention = 4 * t * t * d * (causal ? 0.5 : 1);
  return static_cast<double>(layer_count) * (t * per_token + attention) +
         t * 2 * d * static_cast<double>(vocabulary_size);
}

TransformerLayout::TransformerLayout(const TransformerShape& shape,
                                     int64_t scheme_size) {
  const int64_t d = shape.dim;
  const int64_t f = shape.feed_forward_dim;
  const auto weight = [](std::string name, int64_t rows, int64_t columns,
                         double factor) {
    return Piece{.name = std::move(name),
                 .rows = rows,
                 .columns = columns,
                 .deviation = factor / std::sqrt(static_cast<double>(rows)),
                 .decays = true};
  };
  const auto gain_of = [d](std::string name) {
    return Piece{.name = std::move(name), .rows = 1, .columns = d, .mean = 1};
  };
  const auto shift_of = [d](std::string name) {
    return Piece{.name = std::move(name), .rows = 1, .columns = d};
  };
  embedding = Add({.name = "embedding",
                   .rows = shape.vocabulary_size,
                   .columns = d,
                   .deviation = 0.25});
  // Scale of the projections that write to the residual stream, so that its
  // variance does not grow with the number of layers (Radford et al., 2019).
  const double residual =
      1 / std::sqrt(2 * static_cast<double>(shape.layer_count));
  for (int64_t l = 0; l < shape.layer_count; ++l) {
    const std::string prefix = absl::StrCat("layer", l, ".");
    Layer layer;
    layer.gain1 = Add(gain_of(prefix + "gain1"));
    layer.shift1 = Add(shift_of(prefix + "shift1"));
    layer.wqkv = Add(weight(prefix + "wqkv", d, 3 * d, 1));
    layer.wo = Add(weight(prefix + "wo", d, d, residual));
    layer.gain2 = Add(gain_of(prefix + "gain2"));
    layer.shift2 = Add(shift_of(prefix + "shift2"));
    layer.w1 = Add(weight(prefix + "w1", d, f, 1));
    layer.w2 = Add(weight(prefix + "w2", f, d, residual));
    layers.push_back(layer);
  }
  gain = Add(gain_of("gain"));
  shift = Add(shift_of("shift"));
  wout = Add(weight("wout", d, shape.vocabulary_size, 0.5));
  scheme = Add({.name = "scheme", .rows = 1, .columns = scheme_size});
}

int TransformerLayout::Add(Piece piece) {
  constexpr int64_t kAlignment = 32;  // elements
  piece.start = size_;
  size_ += (piece.size() + kAlignment - 1) / kAlignment * kAlignment;
  pieces_.push_back(std::move(piece));
  return static_cast<int>(pieces_.size()) - 1;
}

template <typename T>
TransformerWeights<T>::TransformerWeights(const TransformerShape& shape,
                                          int64_t scheme_size)
    : shape_(shape),
      layout_(shape, scheme_size),
      buffer_(layout_.size() + Matrix<T>::kSlack),
      packed_(layout_.pieces().size()),
      transposed_(layout_.pieces().size()) {
  std::fill_n(buffer_.get(), layout_.size() + Matrix<T>::kSlack, T(0));
}

template <typename T>
void TransformerWeights<T>::Initialize(uint64_t seed) {
  std::vector<double> values;
  for (const auto& piece : layout_.pieces()) {
    if (piece.name == "scheme") continue;
    values.assign(piece.size(), 0.0);
    if (piece.deviation > 0) {
      RandomStream(seed, absl::StrCat("evaluation.model.", piece.name))
          .FillNormal(piece.deviation, absl::MakeSpan(values));
    }
    T* const to = buffer_.get() + piece.start;
    for (size_t n = 0; n < values.size(); ++n) {
      to[n] = static_cast<T>(piece.mean + values[n]);
    }
  }
}

template <typename T>
void TransformerWeights<T>::Pack(ThreadPool& pool, bool for_backward) {
  std::vector<int> matrices = {layout_.wout};
  for (const auto& layer : layout_.layers) {
    matrices.insert(matrices.end(), {layer.wqkv, layer.wo, layer.w1, layer.w2});
  }
  pool.ParallelFor(static_cast<int64_t>(matrices.size()), [&](int64_t n) {
    const int piece = matrices[n];
    packed_[piece].Pack(matrix(piece));
    if (for_backward) transposed_[piece].PackTransposed(matrix(piece));
  });
}

template class TransformerWeights<float>;
template class TransformerWeights<double>;

// Activations of one layer, kept by the forward pass for the backward pass.
template <typename T>
struct TransformerPass<T>::LayerState {
  Matrix<T> x;                     // input of the layer
  Matrix<T> h1;                    // x normalized
  Matrix<T> qkv;                   // rotated and scaled
  std::vector<Matrix<T>> weights;  // attention weights of each sequence
  Matrix<T> attended;              // output of attention, before wo
  Matrix<T> x_mid;                 // residual stream after attention
  Matrix<T> h2;                    // x_mid normalized
  Matrix<T> activated;             // output of the GELU
  Matrix<T> hidden;                // input of the GELU, then its derivative
  std::vector<T> statistics1, statistics2;
};

template <typename T>
TransformerPass<T>::TransformerPass(const TransformerShape& shape)
    : shape_(shape), attention_(shape.head_count, shape.causal) {
  for (int64_t l = 0; l < shape.layer_count; ++l) {
    layers_.push_back(std::make_unique<LayerState>());
  }
}

template <typename T>
TransformerPass<T>::~TransformerPass() = default;

template <typename T>
MatrixView<const T> TransformerPass<T>::Forward(
    const TransformerWeights<T>& weights, const ModelPositions<T>& positions,
    const Example& example, PeriodicCheck* periodic_check) {
  const absl::Span<const Example> examples(&example, 1);
  Embed(weights, positions, examples);
  for (int64_t l = 0; l < shape_.layer_count; ++l) {
    RunLayer(weights, positions, examples, l, /*for_backward=*/false,
             periodic_check);
  }
  ComputeLogits(weights, examples, periodic_check);
  return logits_.view();
}

template <typename T>
double TransformerPass<T>::Backward(const TransformerWeights<T>& weights,
                                    const ModelPositions<T>& positions,
                                    absl::Span<const Example> examples,
                                    double target_weight,
                                    TransformerGradient<T>* gradient,
                                    PeriodicCheck* periodic_check) {
  Embed(weights, positions, examples);
  for (int64_t l = 0; l < shape_.layer_count; ++l) {
    RunLayer(weights, positions, examples, l, /*for_backward=*/true,
             periodic_check);
  }
  ComputeLogits(weights, examples, periodic_check);
  if (periodic_check->stopped()) return 0;

  const LayerOps<T>& ops = GetLayerOps<T>();
  const MatrixView<T> logits = logits_.view();
  double loss = 0;
  ForEachTarget(examples, [&](int64_t n, int64_t, const Target& target) {
    T* const row = logits.row(n);
    ops.Softmax(row, nullptr, logits.columns);
    loss -= std::log(std::max(static_cast<double>(row[target.token]), 1e-30));
    row[target.token] -= T(1);
    ops.Scale(static_cast<T>(target_weight), row, logits.columns);
  });

  LogitsBackward(weights, examples, gradient->parameters.get());
  for (int64_t l = shape_.layer_count - 1; l >= 0; --l) {
    LayerBackward(weights, positions, examples, l, gradient, periodic_check);
  }
  EmbedBackward(weights, positions, examples, gradient);
  return loss;
}

template <typename T>
void TransformerPass<T>::Embed(const TransformerWeights<T>& weights,
                               const ModelPositions<T>& positions,
                               absl::Span<const Example> examples) {
  const MatrixView<T> x = x_.Resize(TokenCount(examples), shape_.dim);
  const MatrixView<const T> embedding =
      weights.matrix(weights.layout().embedding);
  int64_t i = 0;
  for (const Example& e : examples) {
    for (size_t p = 0; p < e.tokens.size(); ++p, ++i) {
      std::copy_n(embedding.row(e.tokens[p]), shape_.dim, x.row(i));
      positions.AddCode(static_cast<int64_t>(p), x.row(i));
    }
  }
}

template <typename T>
void TransformerPass<T>::RunLayer(const TransformerWeights<T>& weights,
                                  const ModelPositions<T>& positions,
                                  absl::Span<const Example> examples,
                                  int64_t index, bool for_backward,
                                  PeriodicCheck* periodic_check) {
  if (periodic_check->stopped()) return;
  const LayerOps<T>& ops = GetLayerOps<T>();
  const auto& layer = weights.layout().layers[index];
  LayerState& state = *layers_[for_backward ? index : 0];
  const MatrixView<T> x = x_.view();
  const int64_t count = x.rows;
  const int64_t dim = shape_.dim;

  state.statistics1.resize(2 * count);
  state.statistics2.resize(2 * count);
  if (for_backward) CopyRows<T>(x, state.x.Resize(count, dim));
  const MatrixView<T> h1 = state.h1.Resize(count, dim);
  ops.LayerNorm(x, weights.data(layer.gain1), weights.data(layer.shift1), h1,
                state.statistics1.data());
  const MatrixView<T> qkv = state.qkv.Resize(count, 3 * dim);
  MultiplyRows<T>(h1, weights.packed(layer.wqkv), qkv, Accumulate::kReplace,
                  periodic_check);
  const MatrixView<T> attended = state.attended.Resize(count, dim);
  const auto layer_positions = positions.layer(index);
  if (for_backward) {
    state.weights.resize(std::max(state.weights.size(), examples.size()));
  }
  int64_t first = 0;
  for (size_t s = 0; s < examples.size(); ++s) {
    const int64_t length = static_cast<int64_t>(examples[s].tokens.size());
    attention_.Forward(layer_positions.tables, layer_positions.window,
                       qkv.Rows(first, length), attended.Rows(first, length),
                       for_backward ? &state.weights[s] : nullptr,
                       periodic_check);
    first += length;
  }
  MultiplyRows<T>(attended, weights.packed(layer.wo), x, Accumulate::kAdd,
                  periodic_check);

  if (for_backward) CopyRows<T>(x, state.x_mid.Resize(count, dim));
  const MatrixView<T> h2 = state.h2.Resize(count, dim);
  ops.LayerNorm(x, weights.data(layer.gain2), weights.data(layer.shift2), h2,
                state.statistics2.data());
  const MatrixView<T> hidden =
      state.hidden.Resize(count, shape_.feed_forward_dim);
  MultiplyRows<T>(h2, weights.packed(layer.w1), hidden, Accumulate::kReplace,
                  periodic_check);
  const MatrixView<T> activated =
      state.activated.Resize(count, shape_.feed_forward_dim);
  ops.Gelu(hidden, activated);
  MultiplyRows<T>(activated, weights.packed(layer.w2), x, Accumulate::kAdd,
                  periodic_check);
}

template <typename T>
void TransformerPass<T>::ComputeLogits(const TransformerWeights<T>& weights,
                                       absl::Span<const Example> examples,
                                       PeriodicCheck* periodic_check) {
  const auto& layout = weights.layout();
  const int64_t count = TargetCount(examples);
  const MatrixView<T> target_x = target_x_.Resize(count, shape_.dim);
  ForEachTarget(examples, [&](int64_t n, int64_t row, const Target&) {
    std::copy_n(x_.view().row(row), shape_.dim, target_x.row(n));
  });
  target_statistics_.resize(2 * count);
  const MatrixView<T> out = target_norm_.Resize(count, shape_.dim);
  GetLayerOps<T>().LayerNorm(target_x, weights.data(layout.gain),
                             weights.data(layout.shift), out,
                             target_statistics_.data());
  MultiplyRows<T>(out, weights.packed(layout.wout),
                  logits_.Resize(count, shape_.vocabulary_size),
                  Accumulate::kReplace, periodic_check);
}

template <typename T>
void TransformerPass<T>::LogitsBackward(const TransformerWeights<T>& weights,
                                        absl::Span<const Example> examples,
                                        T* gradient) {
  const auto& layout = weights.layout();
  const auto grad = [&](int piece) {
    return gradient + layout.pieces()[piece].start;
  };
  const int64_t count = TargetCount(examples);
  AddTransposedProduct<T>(target_norm_.view(), logits_.view(),
                          {grad(layout.wout), shape_.dim,
                           shape_.vocabulary_size, shape_.vocabulary_size});
  const MatrixView<T> d_out = d_norm_.Resize(count, shape_.dim);
  Multiply<T>(logits_.view(), weights.transposed(layout.wout), d_out);
  // The normalized rows are no longer needed; their memory takes the gradient.
  const MatrixView<T> d_target_x = target_norm_.view();
  for (int64_t n = 0; n < count; ++n) {
    std::fill_n(d_target_x.row(n), shape_.dim, T(0));
  }
  GetLayerOps<T>().LayerNormBackward(d_out, target_x_.view(),
                                     target_statistics_.data(),
                                     weights.data(layout.gain), d_target_x,
                                     grad(layout.gain), grad(layout.shift));

  const MatrixView<T> d_x = d_x_.Resize(x_.view().rows, shape_.dim);
  for (int64_t i = 0; i < d_x.rows; ++i) {
    std::fill_n(d_x.row(i), shape_.dim, T(0));
  }
  ForEachTarget(examples, [&](int64_t n, int64_t row, const Target&) {
    GetLayerOps<T>().Add(d_target_x.row(n), d_x.row(row), shape_.dim);
  });
}

template <typename T>
void TransformerPass<T>::LayerBackward(const TransformerWeights<T>& weights,
                                       const ModelPositions<T>& positions,
                                       absl::Span<const Example> examples,
                                       int64_t index,
                                       TransformerGradient<T>* gradient,
                                       PeriodicCheck* periodic_check) {
  if (periodic_check->stopped()) return;
  const LayerOps<T>& ops = GetLayerOps<T>();
  const auto& layout = weights.layout();
  const auto& layer = layout.layers[index];
  const auto grad = [&](int piece) {
    return gradient->parameters.get() + layout.pieces()[piece].start;
  };
  const auto grad_matrix = [&](int piece) {
    const auto& p = layout.pieces()[piece];
    return MatrixView<T>{grad(piece), p.rows, p.columns, p.columns};
  };
  LayerState& state = *layers_[index];
  const MatrixView<T> d_x = d_x_.view();
  const int64_t count = d_x.rows;

  // Work of the matrix products of this backward pass, without attention.
  if (periodic_check->After(
          static_cast<double>(count) * 8 * static_cast<double>(shape_.dim) *
          static_cast<double>(2 * shape_.dim + shape_.feed_forward_dim))) {
    return;
  }

  // x += gelu(layer_norm(x) w1) w2
  AddTransposedProduct<T>(state.activated.view(), d_x, grad_matrix(layer.w2));
  const MatrixView<T> d_hidden =
      d_hidden_.Resize(count, shape_.feed_forward_dim);
  Multiply<T>(d_x, weights.transposed(layer.w2), d_hidden);
  ops.Multiply(state.hidden.view(), d_hidden);
  AddTransposedProduct<T>(state.h2.view(), d_hidden, grad_matrix(layer.w1));
  const MatrixView<T> d_h = d_norm_.Resize(count, shape_.dim);
  Multiply<T>(d_hidden, weights.transposed(layer.w1), d_h);
  ops.LayerNormBackward(d_h, state.x_mid.view(), state.statistics2.data(),
                        weights.data(layer.gain2), d_x, grad(layer.gain2),
                        grad(layer.shift2));

  // x += attention(layer_norm(x)) wo
  AddTransposedProduct<T>(state.attended.view(), d_x, grad_matrix(layer.wo));
  Multiply<T>(d_x, weights.transposed(layer.wo), d_h);
  const MatrixView<T> d_qkv = d_qkv_.Resize(count, 3 * shape_.dim);
  const auto layer_positions = positions.layer(index);
  int64_t first = 0;
  for (size_t s = 0; s < examples.size(); ++s) {
    const int64_t length = static_cast<int64_t>(examples[s].tokens.size());
    attention_.Backward(
        layer_positions.tables, state.qkv.view().Rows(first, length),
        state.weights[s], d_h.Rows(first, length), d_qkv.Rows(first, length),
        &gradient->positions[layer_positions.table], periodic_check);
    first += length;
  }
  AddTransposedProduct<T>(state.h1.view(), d_qkv, grad_matrix(layer.wqkv));
  Multiply<T>(d_qkv, weights.transposed(layer.wqkv), d_h);
  ops.LayerNormBackward(d_h, state.x.view(), state.statistics1.data(),
                        weights.data(layer.gain1), d_x, grad(layer.gain1),
                        grad(layer.shift1));
}

template <typename T>
void TransformerPass<T>::EmbedBackward(const TransformerWeights<T>& weights,
                                       const ModelPositions<T>& positions,
                                       absl::Span<const Example> examples,
                                       TransformerGradient<T>* gradient) {
  const LayerOps<T>& ops = GetLayerOps<T>();
  const auto& layout = weights.layout();
  T* const embedding =
      gradient->parameters.get() + layout.pieces()[layout.embedding].start;
  int64_t i = 0;
  for (const Example& e : examples) {
    for (size_t p = 0; p < e.tokens.size(); ++p, ++i) {
      const T* const d_row = d_x_.view().row(i);
      ops.Add(d_row, embedding + e.tokens[p] * shape_.dim, shape_.dim);
      positions.AddCodeGradient(static_cast<int64_t>(p), d_row,
                                &gradient->positions);
    }
  }
}

template <typename T>
int64_t TransformerPass<T>::ForwardBytes(const TransformerShape& shape,
                                         int64_t length, int64_t target_count) {
  const auto size = [](int64_t rows, int64_t columns) {
    return Matrix<T>::Size(rows, columns);
  };
  const int64_t numbers =
      4 * size(length, shape.dim) + size(length, 3 * shape.dim) +
      2 * size(length, shape.feed_forward_dim) +
      2 * size(target_count, shape.dim) +
      size(target_count, shape.vocabulary_size) + size(64, length) +
      2 * size(length, shape.head_dim()) + 8 * length;
  return numbers * static_cast<int64_t>(sizeof(T));
}

template <typename T>
int64_t TransformerPass<T>::BackwardBytes(const TransformerShape& shape,
                                          int64_t length,
                                          int64_t group_tokens) {
  const auto size = [](int64_t rows, int64_t columns) {
    return Matrix<T>::Size(rows, columns);
  };
  const int64_t rows = std::max(length, group_tokens);
  // Attention weights of one long sequence, and of a group of short ones. The
  // n-th longest sequence of a group has at most 1 / n of its tokens, so that
  // all together take less than twice the square of group_tokens. The last term
  // covers the padding of rows.
  const int64_t weights =
      size(shape.head_count * length, length) +
      2 * size(shape.head_count * group_tokens, group_tokens) +
      group_tokens * size(shape.head_count, 16);
  const int64_t layer = 5 * size(rows, shape.dim) + size(rows, 3 * shape.dim) +
                        2 * size(rows, shape.feed_forward_dim) + weights;
  const int64_t numbers =
      shape.layer_count * layer + size(rows, 3 * shape.dim) +
      size(rows, shape.feed_forward_dim) +
      ForwardBytes(shape, rows, rows) / static_cast<int64_t>(sizeof(T));
  return numbers * static_cast<int64_t>(sizeof(T));
}

template class TransformerPass<float>;
template class TransformerPass<double>;

}  // namespace locus
