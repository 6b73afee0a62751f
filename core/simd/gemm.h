// Products of matrices, compiled for every instruction set that pays and chosen
// at run time: what Eigen does in one binary only if that binary is built for
// one machine. One thread; callers split the work. The same numbers in, the
// same bits out, on one instruction set.
#pragma once

#include <cstdint>

#include "core/simd/aligned_buffer.h"
#include "core/simd/matrix.h"

namespace locus {

// The right factor of products: copied once into panels as wide as the kernel's
// tile, then read in order by any number of products. T is float or double.
template <typename T>
class PackedMatrix {
 public:
  // Takes over b: [k, n].
  void Pack(MatrixView<const T> b);
  // Takes over the transpose of b: [n, k].
  void PackTransposed(MatrixView<const T> b);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  const T* data() const { return buffer_.get(); }
  // The numbers that a packed matrix of that size occupies at most.
  static int64_t Size(int64_t rows, int64_t columns);

 private:
  void Resize(int64_t rows, int64_t columns);

  AlignedBuffer<T> buffer_;
  int64_t capacity_ = 0;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

// What a product does with what the result held before.
enum class Into { kReplace, kAdd };

// c = a b, or c += a b: a [m, k], b [at least k, at least n], c [m, n]. Of a
// larger b, the upper left part counts.
template <typename T>
void Multiply(MatrixView<const T> a, const PackedMatrix<T>& b, MatrixView<T> c,
              Into into = Into::kReplace);

// c += a' b: a [m, k], b [m, n], c [k, n]. Reads up to Matrix::kSlack numbers
// past the end of b.
template <typename T>
void AddTransposedProduct(MatrixView<const T> a, MatrixView<const T> b,
                          MatrixView<T> c);

// The instruction set that products run on, such as "AVX2". Sums are rounded
// differently on another.
const char* InstructionSet();

}  // namespace locus
