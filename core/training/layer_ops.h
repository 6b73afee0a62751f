// Element-wise operations of a transformer layer, forward and backward, and the
// AdamW update. They are compiled with Highway for several instruction sets;
// the best one that the machine supports is chosen at run time.
#pragma once

#include <cstdint>

#include "core/simd/matrix.h"

namespace locus {

// Decay rates of Adam's moment estimates.
inline constexpr double kAdamBeta1 = 0.9;
inline constexpr double kAdamBeta2 = 0.98;

// Scalars of one AdamW step (Loshchilov and Hutter, 2019):
//
//   w -= weight_decay * w + learning_rate * m_hat / (sqrt(v_hat) + 1e-8)
template <typename T>
struct AdamWStep {
  T learning_rate;
  T weight_decay;      // the learning rate times the weight decay
  T bias_correction1;  // 1 / (1 - beta1^step)
  T bias_correction2;  // 1 / (1 - beta2^step)
  T clip_factor;       // applied to the gradient; 1 if it is not clipped
};

// Table of the operations for one instruction set. T is float or double.
//
// Operations may read up to Matrix::kSlack elements past the end of a row; the
// values there do not affect the result. Sums are accumulated in a fixed order.
template <typename T>
struct LayerOps {
  // Layer normalization (Ba et al., 2016) of each row:
  // out = (x - mean) / deviation * gain + shift.
  // Stores the mean and 1 / deviation of each row in statistics: [rows, 2].
  void (*LayerNorm)(MatrixView<const T> x, const T* gain, const T* shift,
                    MatrixView<T> out, T* statistics);
  // Gradient of LayerNorm. Adds to d_x, d_gain and d_shift.
  void (*LayerNormBackward)(MatrixView<const T> d_out, MatrixView<const T> x,
                            const T* statistics, const T* gain,
                            MatrixView<T> d_x, T* d_gain, T* d_shift);

  // GELU, tanh approximation (Hendrycks and Gimpel, 2016):
  // out = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
  // Overwrites x with the derivative, which shares the hyperbolic tangent.
  void (*Gelu)(MatrixView<T> x, MatrixView<T> out);

  // row = softmax(row + bias). `bias` may be null.
  void (*Softmax)(T* row, const T* bias, int64_t count);
  // d = p (d - sum(p d)): turns the gradient of the softmax output p into the
  // gradient of its input.
  void (*SoftmaxBackward)(const T* p, T* d, int64_t count);

  // to *= from, element-wise.
  void (*Multiply)(MatrixView<const T> from, MatrixView<T> to);
  // to += from.
  void (*Add)(const T* from, T* to, int64_t count);
  // row *= factor.
  void (*Scale)(T factor, T* row, int64_t count);
  double (*SumOfSquares)(const T* row, int64_t count);

  // Updates both moments and the parameters with one AdamW step.
  void (*AdamW)(const AdamWStep<T>& step, const T* gradient, T* moment1,
                T* moment2, T* parameters, int64_t count);
};

// Returns the operations for the instruction set of this machine.
template <typename T>
const LayerOps<T>& GetLayerOps();

}  // namespace locus
