// What a transformer does to rows of numbers, forward and backward, compiled
// for every instruction set that pays and chosen at run time.
#pragma once

#include <cstdint>

#include "core/simd/matrix.h"

namespace locus {

inline constexpr double kAdamBeta1 = 0.9;
inline constexpr double kAdamBeta2 = 0.98;

// One step of AdamW.
template <typename T>
struct AdamStep {
  T rate;
  T decay;            // the rate times the weight decay
  T correction1;      // 1 / (1 - beta1^step)
  T correction2;      // 1 / (1 - beta2^step)
  T gradient_factor;  // of clipping
};

// The functions, for one instruction set. T is float or double. Rows may be
// read up to Matrix::kSlack numbers past their end; what is there has no
// influence. Sums are taken in a fixed order.
template <typename T>
struct Rows {
  // out = (x - mean) / deviation * gain + shift, row by row.
  // statistics: [rows, 2], the mean and 1 / deviation.
  void (*Normalize)(MatrixView<const T> x, const T* gain, const T* shift,
                    MatrixView<T> out, T* statistics);
  // Adds to d_x, d_gain and d_shift.
  void (*NormalizeBackward)(MatrixView<const T> d_out, MatrixView<const T> x,
                            const T* statistics, const T* gain,
                            MatrixView<T> d_x, T* d_gain, T* d_shift);

  // out = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), and x becomes the
  // derivative there, which takes the same hyperbolic tangent.
  void (*Gelu)(MatrixView<T> x, MatrixView<T> out);

  // row = softmax(row + bias); bias may be null.
  void (*Softmax)(T* row, const T* bias, int64_t count);
  // d = p (d - sum(p d)): from the gradient of a softmax to that of its scores.
  void (*SoftmaxBackward)(const T* p, T* d, int64_t count);

  // to *= from, row by row.
  void (*Multiply)(MatrixView<const T> from, MatrixView<T> to);
  // to += from.
  void (*Add)(const T* from, T* to, int64_t count);
  void (*Scale)(T factor, T* row, int64_t count);
  double (*SquareSum)(const T* row, int64_t count);

  void (*Adam)(const AdamStep<T>& step, const T* gradient, T* moment1,
               T* moment2, T* parameters, int64_t count);
};

// Those of this machine.
template <typename T>
const Rows<T>& RowFunctions();

}  // namespace locus
