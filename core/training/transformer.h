// A small trainable transformer: a pre-LN decoder (Xiong et al., 2020).
//
//   x = embedding[token] + code(position)
//   each layer:  x += attention(layer_norm(x)) wo
//                x += gelu(layer_norm(x) w1) w2
//   logits = layer_norm(x) wout, at the tokens with a target
//
// The backward pass is written by hand; tests compare every gradient with
// central differences. Projections have no biases, and there is no dropout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"
#include "core/simd/aligned_buffer.h"
#include "core/simd/gemm.h"
#include "core/simd/matrix.h"
#include "core/training/model_positions.h"
#include "core/training/self_attention.h"
#include "core/training/task.h"

namespace locus {

struct TransformerShape {
  int64_t dim = 64;
  int64_t layer_count = 2;
  int64_t head_count = 4;
  int64_t feed_forward_dim = 256;
  int64_t vocabulary_size = 256;
  bool causal = true;

  int64_t head_dim() const { return dim / head_count; }
  // Multiplications and additions of the forward pass of one sequence. A
  // backward pass takes twice as many.
  double ForwardFlops(int64_t length) const;
};

// Offsets of the tensors of a model in the vector of all its parameters.
class TransformerLayout {
 public:
  // One tensor of the model.
  struct Piece {
    std::string name;
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t start = 0;
    // Initial values are drawn from a normal distribution with this mean and
    // standard deviation.
    double mean = 0;
    double deviation = 0;
    // Whether weight decay applies.
    bool decays = false;

    int64_t size() const { return rows * columns; }
  };
  // Indices of the pieces of one layer. gain and shift are the parameters of
  // layer normalization.
  struct Layer {
    int gain1, shift1, wqkv, wo, gain2, shift2, w1, w2;
  };

  // `scheme_size` is the number of learned parameters of the position scheme.
  TransformerLayout(const TransformerShape& shape, int64_t scheme_size);

  absl::Span<const Piece> pieces() const { return pieces_; }
  // Number of parameters, including padding between pieces.
  int64_t size() const { return size_; }

  // Indices of pieces.
  int embedding;
  std::vector<Layer> layers;
  int gain, shift, wout;
  int scheme;  // parameters of the position scheme

 private:
  int Add(Piece piece);

  std::vector<Piece> pieces_;
  int64_t size_ = 0;
};

// The parameters of a model, and its matrices packed for products. T is float
// or double.
template <typename T>
class TransformerWeights {
 public:
  TransformerWeights(const TransformerShape& shape, int64_t scheme_size);

  // Draws all parameters but those of the scheme. Each tensor has a random
  // stream of its own, so that models with the same seed agree in all tensors
  // of the same shape.
  void Initialize(uint64_t seed);
  // Packs the matrices for products. Call it after parameters have changed.
  void Pack(ThreadPool& pool, bool for_backward);

  const TransformerShape& shape() const { return shape_; }
  const TransformerLayout& layout() const { return layout_; }
  absl::Span<T> parameters() {
    return absl::MakeSpan(buffer_.get(), layout_.size());
  }
  const T* data(int piece) const {
    return buffer_.get() + layout_.pieces()[piece].start;
  }
  MatrixView<const T> matrix(int piece) const {
    const auto& p = layout_.pieces()[piece];
    return {data(piece), p.rows, p.columns, p.columns};
  }
  const PackedMatrix<T>& packed(int piece) const { return packed_[piece]; }
  const PackedMatrix<T>& transposed(int piece) const {
    return transposed_[piece];
  }

 private:
  const TransformerShape shape_;
  const TransformerLayout layout_;
  AlignedBuffer<T> buffer_;
  std::vector<PackedMatrix<T>> packed_;      // by piece; empty for vectors
  std::vector<PackedMatrix<T>> transposed_;  // by piece; for backward
};

// Gradient of a loss with respect to the parameters and to the rows of the
// position tables. ModelPositions::Backward() turns the latter into gradients
// of the scheme's parameters.
template <typename T>
struct TransformerGradient {
  AlignedBuffer<T> parameters;
  typename ModelPositions<T>::Gradient positions;
};

// Forward and backward passes of one thread. Reuses its scratch memory between
// calls. After a cancellation, results are incomplete and must be discarded.
template <typename T>
class TransformerPass {
 public:
  explicit TransformerPass(const TransformerShape& shape);
  ~TransformerPass();

  // Returns the logits at the targets: [targets, vocabulary_size]. Valid until
  // the next call.
  MatrixView<const T> Forward(const TransformerWeights<T>& weights,
                              const ModelPositions<T>& positions,
                              const Example& example,
                              PeriodicCheck* periodic_check);

  // Returns the cross-entropy, summed over all targets of the examples. Adds
  // its gradient, multiplied by target_weight, to `gradient`.
  double Backward(const TransformerWeights<T>& weights,
                  const ModelPositions<T>& positions,
                  absl::Span<const Example> examples, double target_weight,
                  TransformerGradient<T>* gradient,
                  PeriodicCheck* periodic_check);

  // Upper bounds of the memory of a pass, in bytes, after sequences of `length`
  // tokens. Backward() also takes groups of shorter sequences with up to
  // group_tokens tokens together.
  static int64_t ForwardBytes(const TransformerShape& shape, int64_t length,
                              int64_t target_count);
  static int64_t BackwardBytes(const TransformerShape& shape, int64_t length,
                               int64_t group_tokens);

 private:
  struct LayerState;

  void Embed(const TransformerWeights<T>& weights,
             const ModelPositions<T>& positions,
             absl::Span<const Example> examples);
  // Runs one layer. With for_backward, keeps the activations that
  // LayerBackward() needs.
  void RunLayer(const TransformerWeights<T>& weights,
                const ModelPositions<T>& positions,
                absl::Span<const Example> examples, int64_t index,
                bool for_backward, PeriodicCheck* periodic_check);
  void ComputeLogits(const TransformerWeights<T>& weights,
                     absl::Span<const Example> examples,
                     PeriodicCheck* periodic_check);
  void LogitsBackward(const TransformerWeights<T>& weights,
                      absl::Span<const Example> examples, T* gradient);
  void LayerBackward(const TransformerWeights<T>& weights,
                     const ModelPositions<T>& positions,
                     absl::Span<const Example> examples, int64_t index,
                     TransformerGradient<T>* gradient,
                     PeriodicCheck* periodic_check);
  void EmbedBackward(const TransformerWeights<T>& weights,
                     const ModelPositions<T>& positions,
                     absl::Span<const Example> examples,
                     TransformerGradient<T>* gradient);

  const TransformerShape shape_;
  SelfAttention<T> attention_;
  std::vector<std::unique_ptr<LayerState>> layers_;
  Matrix<T> x_;            // [tokens, dim], the residual stream
  Matrix<T> d_x_;          // gradient of x_
  Matrix<T> target_x_;     // [targets, dim], the rows of x_ with a target
  Matrix<T> target_norm_;  // [targets, dim], target_x_ normalized
  Matrix<T> logits_;       // [targets, vocabulary_size]
  std::vector<T> target_statistics_;
  Matrix<T> d_hidden_;  // [tokens, feed_forward_dim]
  Matrix<T> d_norm_;    // [tokens, dim], gradient of normalized rows
  Matrix<T> d_qkv_;     // [tokens, 3 dim]
};

}  // namespace locus
