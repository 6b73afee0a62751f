// Implementation of plain_eigen.h. The build compiles this file several times,
// for different instruction sets and with two macros: LOCUS_EIGEN_COPY is the
// namespace of the copy, and the macro Eigen renames the namespace of Eigen.
// Without the renaming, the linker would merge the instantiations of Eigen's
// templates across copies.
#include <Eigen/Core>
#include <cmath>
#include <complex>

#include "tests/bench/plain_eigen.h"

namespace locus::bench::LOCUS_EIGEN_COPY {
namespace {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rotation frequencies in radians per position, [1, dim / 2].
Eigen::Array<float, 1, Eigen::Dynamic> Frequencies(int64_t dim) {
  Eigen::Array<float, 1, Eigen::Dynamic> frequencies(dim / 2);
  for (int64_t k = 0; k < dim / 2; ++k) {
    frequencies[k] =
        std::pow(1e4F, -2 * static_cast<float>(k) / static_cast<float>(dim));
  }
  return frequencies;
}

}  // namespace

void AttendHead(const EigenHeads& heads, int64_t head) {
  const int64_t queries = heads.query_count;
  const int64_t keys = heads.key_count;
  const int64_t dim = heads.dim;
  const int64_t key_head = head * heads.key_head_count / heads.head_count;
  const Eigen::Map<const Matrix> q(heads.q + head * queries * dim, queries,
                                   dim);
  const Eigen::Map<const Matrix> k(heads.k + key_head * keys * dim, keys, dim);
  const Eigen::Map<const Matrix> v(heads.v + key_head * keys * dim, keys, dim);
  Eigen::Map<Matrix> output(heads.output + head * queries * dim, queries, dim);

  const float scale = 1 / std::sqrt(static_cast<float>(dim));
  Matrix scores(queries, keys);
  scores.noalias() = (scale * q) * k.transpose();
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t visible = heads.causal && i < keys ? i + 1 : keys;
    auto row = scores.row(i).head(visible).array();
    row = (row - row.maxCoeff()).exp();
    row *= 1 / row.sum();
    scores.row(i).tail(keys - visible).setZero();
  }
  output.noalias() = scores * v;
}

void SinusoidalRows(int64_t first, int64_t last, int64_t dim, float* table) {
  using Row = Eigen::Array<float, 1, Eigen::Dynamic>;
  const Row frequencies = Frequencies(dim);
  Row angles(dim / 2);
  Row values(dim / 2);
  for (int64_t t = first; t < last; ++t) {
    Eigen::Map<Row, 0, Eigen::InnerStride<2>> sines(table + t * dim, dim / 2);
    Eigen::Map<Row, 0, Eigen::InnerStride<2>> cosines(table + t * dim + 1,
                                                      dim / 2);
    angles = static_cast<float>(t) * frequencies;
    // Eigen only vectorises the functions if the result is contiguous.
    values = angles.sin();
    sines = values;
    values = angles.cos();
    cosines = values;
  }
}

void RotatePosition(const EigenRotation& rotation, int64_t t) {
  const int64_t dim = rotation.dim;
  using Pairs = Eigen::Array<std::complex<float>, 1, Eigen::Dynamic>;
  const auto angles = (static_cast<float>(t) * Frequencies(dim)).eval();
  Pairs factors(dim / 2);
  factors.real() = angles.cos();
  factors.imag() = angles.sin();
  for (int64_t head = 0; head < rotation.head_count; ++head) {
    const int64_t row = (head * rotation.length + t) * dim;
    const Eigen::Map<const Pairs> from(
        reinterpret_cast<const std::complex<float>*>(rotation.input + row),
        dim / 2);
    Eigen::Map<Pairs> to(
        reinterpret_cast<std::complex<float>*>(rotation.output + row), dim / 2);
    to = from * factors;
  }
}

}  // namespace locus::bench::LOCUS_EIGEN_COPY
