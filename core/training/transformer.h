// A small transformer that can be trained: a pre-LN decoder.
//
//   x = embedding[token] + code(position)
//   each layer:  x += attention(normalize(x)) wo
//                x += gelu(normalize(x) w1) w2
//   logits = normalize(x) wout, at the tokens with a target
//
// Forward and backward are written by hand; tests hold every gradient to
// central differences. Projections have no biases, and nothing is dropped out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/simd/aligned_buffer.h"
#include "core/simd/matrix.h"
#include "core/simd/gemm.h"
#include "core/parallel/thread_pool.h"
#include "core/parallel/interruption.h"
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
  // Multiplications and additions of the forward pass of a sequence. A backward
  // pass takes twice as many.
  double ForwardFlops(int64_t length) const;
};

// Where each tensor of a model lies in the vector of all its parameters.
class TransformerLayout {
 public:
  struct Piece {
    std::string name;
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t start = 0;
    // Initial values are drawn from N(mean, deviation).
    double mean = 0;
    double deviation = 0;
    // Whether weight decay applies.
    bool decays = false;

    int64_t size() const { return rows * columns; }
  };
  struct Layer {
    int gain1, shift1, wqkv, wo, gain2, shift2, w1, w2;  // indices of pieces
  };

  // `scheme_size`: the number of the scheme's own parameters.
  TransformerLayout(const TransformerShape& shape, int64_t scheme_size);

  absl::Span<const Piece> pieces() const { return pieces_; }
  int64_t size() const { return size_; }

  int embedding;
  std::vector<Layer> layers;
  int gain, shift, wout;
  int scheme;  // the scheme's own

 private:
  int Add(Piece piece);

  std::vector<Piece> pieces_;
  int64_t size_ = 0;
};

// The parameters, and the weights packed for products. T is float or double.
template <typename T>
class TransformerWeights {
 public:
  TransformerWeights(const TransformerShape& shape, int64_t scheme_size);

  // Draws all but the scheme's own from streams of the seed, one for each
  // tensor, so that models agree wherever their shapes do.
  void Initialize(uint64_t seed);
  // Packs the weights for products, after they have changed.
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

// The gradient of a loss: one number for each parameter, and for the rows of
// the position tables, from which the scheme's own follow.
template <typename T>
struct TransformerGradient {
  AlignedBuffer<T> parameters;
  typename ModelPositions<T>::Gradient positions;
};

// One thread's passes through a model. Keeps its scratch between calls. What a
// pass that was interrupted leaves is worthless.
template <typename T>
class TransformerPass {
 public:
  explicit TransformerPass(const TransformerShape& shape);
  ~TransformerPass();

  // Logits at the targets: [targets, vocabulary_size]. Valid until the next
  // call.
  MatrixView<const T> Forward(const TransformerWeights<T>& weights,
                              const ModelPositions<T>& positions,
                              const Example& example,
                              Interruption* interruption);

  // The cross entropy of all targets of some sequences, summed; adds
  // target_weight times its gradient to `gradient`.
  double Backward(const TransformerWeights<T>& weights,
                  const ModelPositions<T>& positions,
                  absl::Span<const Example> examples, double target_weight,
                  TransformerGradient<T>* gradient, Interruption* interruption);

  // The bytes a pass holds at most after sequences of so many tokens, alone or
  // in groups of so many.
  static int64_t ForwardBytes(const TransformerShape& shape, int64_t length,
                              int64_t target_count);
  static int64_t BackwardBytes(const TransformerShape& shape, int64_t length,
                               int64_t group_tokens);

 private:
  struct LayerState;

  void Embed(const TransformerWeights<T>& weights,
             const ModelPositions<T>& positions,
             absl::Span<const Example> examples);
  void RunLayer(const TransformerWeights<T>& weights,
                const ModelPositions<T>& positions,
                absl::Span<const Example> examples, int64_t index, bool keep,
                Interruption* interruption);
  void Read(const TransformerWeights<T>& weights,
            absl::Span<const Example> examples, Interruption* interruption);
  void ReadBackward(const TransformerWeights<T>& weights,
                    absl::Span<const Example> examples, T* gradient);
  void LayerBackward(const TransformerWeights<T>& weights,
                     const ModelPositions<T>& positions,
                     absl::Span<const Example> examples, int64_t index,
                     TransformerGradient<T>* gradient,
                     Interruption* interruption);
  void EmbedBackward(const TransformerWeights<T>& weights,
                     const ModelPositions<T>& positions,
                     absl::Span<const Example> examples,
                     TransformerGradient<T>* gradient);

  const TransformerShape shape_;
  SelfAttention<T> attention_;
  std::vector<std::unique_ptr<LayerState>> layers_;
  Matrix<T> x_;         // [tokens, dim], the residual stream
  Matrix<T> d_x_;       // its gradient
  Matrix<T> read_;      // [targets, dim], the rows with a target
  Matrix<T> read_out_;  // the same, normalized
  Matrix<T> logits_;    // [targets, vocabulary_size]
  std::vector<T> read_statistics_;
  Matrix<T> d_wide_;  // gradients of inner rows
  Matrix<T> d_dim_;
  Matrix<T> d_qkv_;
};

}  // namespace locus
