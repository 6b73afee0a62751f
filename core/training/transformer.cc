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

int64_t TargetCount(absl::Span<const Example> examples) {
  int64_t count = 0;
  for (const Example& e : examples) {
    count += static_cast<int64_t>(e.targets.size());
  }
  return count;
}

// body(row among all targets, row among all tokens, target).
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

// c = a b or c += a b, some rows at a time.
template <typename T>
void MultiplyRows(MatrixView<const T> a, const PackedMatrix<T>& b,
                  MatrixView<T> c, Into into, Interruption* interruption) {
  constexpr int64_t kRows = 1020;  // of tiles of 6 and of 12
  for (int64_t first = 0; first < a.rows; first += kRows) {
    const int64_t count = std::min(kRows, a.rows - first);
    if (interruption->After(2.0 * static_cast<double>(count) *
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
  // What is added to the residual stream, so that its size does not grow with
  // the number of layers.
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
  constexpr int64_t kAlignment = 32;  // numbers
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

// What one layer's forward pass leaves for the backward one.
template <typename T>
struct TransformerPass<T>::LayerState {
  Matrix<T> x;                     // what came in
  Matrix<T> h1;                    // normalized
  Matrix<T> qkv;                   // rotated and scaled
  std::vector<Matrix<T>> weights;  // of attention, one for each sequence
  Matrix<T> mixed;                 // what attention yields
  Matrix<T> middle;                // after attention
  Matrix<T> h2;                    // normalized
  Matrix<T> active;                // after the activation
  Matrix<T> wide;                  // its derivative
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
    const Example& example, Interruption* interruption) {
  const absl::Span<const Example> examples(&example, 1);
  Embed(weights, positions, examples);
  for (int64_t l = 0; l < shape_.layer_count; ++l) {
    RunLayer(weights, positions, examples, l, /*keep=*/false, interruption);
  }
  Read(weights, examples, interruption);
  return logits_.view();
}

template <typename T>
double TransformerPass<T>::Backward(const TransformerWeights<T>& weights,
                                    const ModelPositions<T>& positions,
                                    absl::Span<const Example> examples,
                                    double target_weight,
                                    TransformerGradient<T>* gradient,
                                    Interruption* interruption) {
  Embed(weights, positions, examples);
  for (int64_t l = 0; l < shape_.layer_count; ++l) {
    RunLayer(weights, positions, examples, l, /*keep=*/true, interruption);
  }
  Read(weights, examples, interruption);
  if (interruption->stopped()) return 0;

  const Rows<T>& rows = RowFunctions<T>();
  const MatrixView<T> logits = logits_.view();
  double loss = 0;
  ForEachTarget(examples, [&](int64_t n, int64_t, const Target& target) {
    T* const row = logits.row(n);
    rows.Softmax(row, nullptr, logits.columns);
    loss -= std::log(std::max(static_cast<double>(row[target.token]), 1e-30));
    row[target.token] -= T(1);
    rows.Scale(static_cast<T>(target_weight), row, logits.columns);
  });

  ReadBackward(weights, examples, gradient->parameters.get());
  for (int64_t l = shape_.layer_count - 1; l >= 0; --l) {
    LayerBackward(weights, positions, examples, l, gradient, interruption);
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
                                  int64_t index, bool keep,
                                  Interruption* interruption) {
  if (interruption->stopped()) return;
  const Rows<T>& rows = RowFunctions<T>();
  const auto& layer = weights.layout().layers[index];
  LayerState& state = *layers_[keep ? index : 0];
  const MatrixView<T> x = x_.view();
  const int64_t count = x.rows;
  const int64_t dim = shape_.dim;

  state.statistics1.resize(2 * count);
  state.statistics2.resize(2 * count);
  if (keep) CopyRows<T>(x, state.x.Resize(count, dim));
  const MatrixView<T> h1 = state.h1.Resize(count, dim);
  rows.Normalize(x, weights.data(layer.gain1), weights.data(layer.shift1), h1,
                 state.statistics1.data());
  const MatrixView<T> qkv = state.qkv.Resize(count, 3 * dim);
  MultiplyRows<T>(h1, weights.packed(layer.wqkv), qkv, Into::kReplace,
                  interruption);
  const MatrixView<T> mixed = state.mixed.Resize(count, dim);
  const auto own = positions.layer(index);
  if (keep)
    state.weights.resize(std::max(state.weights.size(), examples.size()));
  int64_t first = 0;
  for (size_t s = 0; s < examples.size(); ++s) {
    const int64_t length = static_cast<int64_t>(examples[s].tokens.size());
    attention_.Forward(own.tables, own.window, qkv.Rows(first, length),
                       mixed.Rows(first, length),
                       keep ? &state.weights[s] : nullptr, interruption);
    first += length;
  }
  MultiplyRows<T>(mixed, weights.packed(layer.wo), x, Into::kAdd, interruption);

  if (keep) CopyRows<T>(x, state.middle.Resize(count, dim));
  const MatrixView<T> h2 = state.h2.Resize(count, dim);
  rows.Normalize(x, weights.data(layer.gain2), weights.data(layer.shift2), h2,
                 state.statistics2.data());
  const MatrixView<T> wide = state.wide.Resize(count, shape_.feed_forward_dim);
  MultiplyRows<T>(h2, weights.packed(layer.w1), wide, Into::kReplace,
                  interruption);
  const MatrixView<T> active =
      state.active.Resize(count, shape_.feed_forward_dim);
  rows.Gelu(wide, active);
  MultiplyRows<T>(active, weights.packed(layer.w2), x, Into::kAdd,
                  interruption);
}

template <typename T>
void TransformerPass<T>::Read(const TransformerWeights<T>& weights,
                              absl::Span<const Example> examples,
                              Interruption* interruption) {
  const auto& layout = weights.layout();
  const int64_t count = TargetCount(examples);
  const MatrixView<T> read = read_.Resize(count, shape_.dim);
  ForEachTarget(examples, [&](int64_t n, int64_t row, const Target&) {
    std::copy_n(x_.view().row(row), shape_.dim, read.row(n));
  });
  read_statistics_.resize(2 * count);
  const MatrixView<T> out = read_out_.Resize(count, shape_.dim);
  RowFunctions<T>().Normalize(read, weights.data(layout.gain),
                              weights.data(layout.shift), out,
                              read_statistics_.data());
  MultiplyRows<T>(out, weights.packed(layout.wout),
                  logits_.Resize(count, shape_.vocabulary_size), Into::kReplace,
                  interruption);
}

template <typename T>
void TransformerPass<T>::ReadBackward(const TransformerWeights<T>& weights,
                                      absl::Span<const Example> examples,
                                      T* gradient) {
  const auto& layout = weights.layout();
  const auto grad = [&](int piece) {
    return gradient + layout.pieces()[piece].start;
  };
  const int64_t count = TargetCount(examples);
  AddTransposedProduct<T>(read_out_.view(), logits_.view(),
                          {grad(layout.wout), shape_.dim,
                           shape_.vocabulary_size, shape_.vocabulary_size});
  const MatrixView<T> d_out = d_dim_.Resize(count, shape_.dim);
  Multiply<T>(logits_.view(), weights.transposed(layout.wout), d_out);
  // Normalized rows are not needed any more: their place takes the gradient.
  const MatrixView<T> d_read = read_out_.view();
  for (int64_t n = 0; n < count; ++n) {
    std::fill_n(d_read.row(n), shape_.dim, T(0));
  }
  RowFunctions<T>().NormalizeBackward(
      d_out, read_.view(), read_statistics_.data(), weights.data(layout.gain),
      d_read, grad(layout.gain), grad(layout.shift));

  const MatrixView<T> d_x = d_x_.Resize(x_.view().rows, shape_.dim);
  for (int64_t i = 0; i < d_x.rows; ++i) {
    std::fill_n(d_x.row(i), shape_.dim, T(0));
  }
  ForEachTarget(examples, [&](int64_t n, int64_t row, const Target&) {
    RowFunctions<T>().Add(d_read.row(n), d_x.row(row), shape_.dim);
  });
}

template <typename T>
void TransformerPass<T>::LayerBackward(const TransformerWeights<T>& weights,
                                       const ModelPositions<T>& positions,
                                       absl::Span<const Example> examples,
                                       int64_t index,
                                       TransformerGradient<T>* gradient,
                                       Interruption* interruption) {
  if (interruption->stopped()) return;
  const Rows<T>& rows = RowFunctions<T>();
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

  // The products of a layer's backward pass, but for attention.
  if (interruption->After(
          static_cast<double>(count) * 8 * static_cast<double>(shape_.dim) *
          static_cast<double>(2 * shape_.dim + shape_.feed_forward_dim))) {
    return;
  }

  // x += gelu(normalize(x) w1) w2
  AddTransposedProduct<T>(state.active.view(), d_x, grad_matrix(layer.w2));
  const MatrixView<T> d_wide = d_wide_.Resize(count, shape_.feed_forward_dim);
  Multiply<T>(d_x, weights.transposed(layer.w2), d_wide);
  rows.Multiply(state.wide.view(), d_wide);
  AddTransposedProduct<T>(state.h2.view(), d_wide, grad_matrix(layer.w1));
  const MatrixView<T> d_h = d_dim_.Resize(count, shape_.dim);
  Multiply<T>(d_wide, weights.transposed(layer.w1), d_h);
  rows.NormalizeBackward(d_h, state.middle.view(), state.statistics2.data(),
                         weights.data(layer.gain2), d_x, grad(layer.gain2),
                         grad(layer.shift2));

  // x += attention(normalize(x)) wo
  AddTransposedProduct<T>(state.mixed.view(), d_x, grad_matrix(layer.wo));
  Multiply<T>(d_x, weights.transposed(layer.wo), d_h);
  const MatrixView<T> d_qkv = d_qkv_.Resize(count, 3 * shape_.dim);
  const auto own = positions.layer(index);
  int64_t first = 0;
  for (size_t s = 0; s < examples.size(); ++s) {
    const int64_t length = static_cast<int64_t>(examples[s].tokens.size());
    attention_.Backward(own.tables, state.qkv.view().Rows(first, length),
                        state.weights[s], d_h.Rows(first, length),
                        d_qkv.Rows(first, length),
                        &gradient->positions[own.table], interruption);
    first += length;
  }
  AddTransposedProduct<T>(state.h1.view(), d_qkv, grad_matrix(layer.wqkv));
  Multiply<T>(d_qkv, weights.transposed(layer.wqkv), d_h);
  rows.NormalizeBackward(d_h, state.x.view(), state.statistics1.data(),
                         weights.data(layer.gain1), d_x, grad(layer.gain1),
                         grad(layer.shift1));
}

template <typename T>
void TransformerPass<T>::EmbedBackward(const TransformerWeights<T>& weights,
                                       const ModelPositions<T>& positions,
                                       absl::Span<const Example> examples,
                                       TransformerGradient<T>* gradient) {
  const Rows<T>& rows = RowFunctions<T>();
  const auto& layout = weights.layout();
  T* const embedding =
      gradient->parameters.get() + layout.pieces()[layout.embedding].start;
  int64_t i = 0;
  for (const Example& e : examples) {
    for (size_t p = 0; p < e.tokens.size(); ++p, ++i) {
      const T* const d_row = d_x_.view().row(i);
      rows.Add(d_row, embedding + e.tokens[p] * shape_.dim, shape_.dim);
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
  // A long sequence is alone. Of a group of short ones, n of them have at most
  // 1 / n of the tokens each; padding counts most for the shortest.
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
