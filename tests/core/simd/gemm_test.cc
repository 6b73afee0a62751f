// Compares products with three nested loops, on every instruction set of this
// machine.
#include "core/simd/gemm.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/base/random.h"
#include "tests/support/every_target.h"

namespace locus {
namespace {

using testing::ForEveryTarget;

template <typename T>
MatrixView<T> RandomMatrix(int64_t rows, int64_t columns, const char* purpose,
                           Matrix<T>* matrix) {
  const MatrixView<T> view = matrix->Resize(rows, columns);
  RandomStream stream(3, purpose);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      view.row(i)[j] = static_cast<T>(stream.Normal());
    }
  }
  return view;
}

template <typename T>
class GemmTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

constexpr int64_t kSizes[] = {1, 2, 5, 6, 7, 13, 16, 31, 48, 65};

TYPED_TEST(GemmTest, MultiplyMatchesReference) {
  using T = TypeParam;
  ForEveryTarget([] {
    for (const int64_t m : kSizes) {
      for (const int64_t n : kSizes) {
        for (const int64_t k : {1, 3, 16, 50}) {
          Matrix<T> a_matrix, b_matrix, bt_matrix, c_matrix;
          const auto a = RandomMatrix<T>(m, k, "a", &a_matrix);
          const auto b = RandomMatrix<T>(k, n, "b", &b_matrix);
          const auto bt = bt_matrix.Resize(n, k);
          for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = 0; j < n; ++j) bt.row(j)[i] = b.row(i)[j];
          }
          const auto c = RandomMatrix<T>(m, n, "c", &c_matrix);
          const auto before = c.row(m - 1)[n - 1];
          // The element after the result must not be overwritten.
          const T guard = c.row(0)[n];
          PackedMatrix<T> packed;
          packed.Pack(b);
          Multiply<T>(a, packed, c, Accumulate::kAdd);
          double last = before;
          for (int64_t p = 0; p < k; ++p) {
            last += static_cast<double>(a.row(m - 1)[p]) * b.row(p)[n - 1];
          }
          const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
          ASSERT_NEAR(c.row(m - 1)[n - 1], last, tolerance);
          packed.PackTransposed(bt);
          Multiply<T>(a, packed, c);
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (int64_t p = 0; p < k; ++p) {
                sum += static_cast<double>(a.row(i)[p]) * b.row(p)[j];
              }
              ASSERT_NEAR(c.row(i)[j], sum, tolerance)
                  << m << " " << k << " " << n;
            }
          }
          if (c.stride > n) {
            ASSERT_EQ(c.row(0)[n], guard);
          }
        }
      }
    }
  });
}

TYPED_TEST(GemmTest, TransposedProductMatchesReference) {
  using T = TypeParam;
  ForEveryTarget([] {
    for (const int64_t k : kSizes) {
      for (const int64_t n : kSizes) {
        constexpr int64_t m = 19;
        Matrix<T> a_matrix, b_matrix, c_matrix;
        const auto a = RandomMatrix<T>(m, k, "a", &a_matrix);
        const auto b = RandomMatrix<T>(m, n, "b", &b_matrix);
        const auto c = RandomMatrix<T>(k, n, "c", &c_matrix);
        Matrix<T> start_matrix;
        const auto start = RandomMatrix<T>(k, n, "c", &start_matrix);
        AddTransposedProduct<T>(a, b, c);
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            double sum = start.row(i)[j];
            for (int64_t p = 0; p < m; ++p) {
              sum += static_cast<double>(a.row(p)[i]) * b.row(p)[j];
            }
            ASSERT_NEAR(c.row(i)[j], sum, sizeof(T) == 4 ? 1e-5 : 1e-13);
          }
        }
      }
    }
  });
}

TYPED_TEST(GemmTest, UsesTheUpperLeftPartOfALargerRightOperand) {
  using T = TypeParam;
  Matrix<T> a_matrix, b_matrix, c_matrix;
  const auto a = RandomMatrix<T>(7, 20, "a", &a_matrix);
  const auto b = RandomMatrix<T>(33, 90, "b", &b_matrix);
  const auto c = c_matrix.Resize(7, 70);
  PackedMatrix<T> packed;
  packed.Pack(b);
  Multiply<T>(a, packed, c);
  for (int64_t i = 0; i < 7; ++i) {
    for (int64_t j = 0; j < 70; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < 20; ++p) {
        sum += static_cast<double>(a.row(i)[p]) * b.row(p)[j];
      }
      ASSERT_NEAR(c.row(i)[j], sum, 1e-5);
    }
  }
}

}  // namespace
}  // namespace locus
