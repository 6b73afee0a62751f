// Matrix multiplication (GEMM) for float and double.
//
// Compiled for several instruction sets; the best one is selected at run time,
// which Eigen does not offer. Every function runs on the calling thread;
// callers divide the work among threads themselves. Results are bitwise
// reproducible on one instruction set.
#pragma once

#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/simd/matrix.h"

namespace locus {

// The right-hand operand of a product, packed into panels as wide as the
// kernel's tile so that the kernel reads it sequentially. Pack once, then
// multiply any number of times. T is float or double. Concurrent products may
// read one packed matrix; packing needs exclusive access.
template <typename T>
class PackedMatrix {
 public:
  // Copies b: [k, n]. Reuses the buffer if it is large enough.
  void Pack(MatrixView<const T> b);
  // Copies the transpose of b: [n, k]. Reuses the buffer if it is large enough.
  void PackTransposed(MatrixView<const T> b);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  const T* data() const { return buffer_.get(); }
  // Number of elements, padding included, of a packed [rows, columns] matrix.
  static int64_t Size(int64_t rows, int64_t columns);

 private:
  void Resize(int64_t rows, int64_t columns);

  AlignedBuffer<T> buffer_;
  int64_t capacity_ = 0;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

// Whether a product replaces the contents of its result or is added to them.
enum class Accumulate { kReplace, kAdd };

// c = a b, or c += a b with Accumulate::kAdd. a: [m, k], c: [m, n]. b must have
// at least k rows and n columns; only its upper left [k, n] part is used.
template <typename T>
void Multiply(MatrixView<const T> a, const PackedMatrix<T>& b, MatrixView<T> c,
              Accumulate into = Accumulate::kReplace);

// c += transpose(a) b. a: [m, k], b: [m, n], c: [k, n]. Reads up to
// Matrix::kSlack elements past the end of b.
template <typename T>
void AddTransposedProduct(MatrixView<const T> a, MatrixView<const T> b,
                          MatrixView<T> c);

// Name of the instruction set that was selected, such as "AVX2". Results on
// different instruction sets differ in rounding.
const char* InstructionSet();

}  // namespace locus
