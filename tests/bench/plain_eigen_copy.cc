// The pieces of plain_eigen.h. The build compiles this file several times, with
// different instructions allowed and two macros: LOCUS_EIGEN_COPY names the
// namespace of the copy, and Eigen renames Eigen's own. Without the latter the
// linker would take the copies of a template for the same, and keep any one.
#include <Eigen/Core>
#include <cmath>
#include <complex>

#include "tests/bench/plain_eigen.h"

namespace locus::bench::LOCUS_EIGEN_COPY {
namespace {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The radians from one position to the next: [1, dim / 2]
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
    const int64_t seen = heads.causal && i < keys ? i + 1 : keys;
    auto row = scores.row(i).head(seen).array();
    row = (row - row.maxCoeff()).exp();
    row *= 1 / row.sum();
    scores.row(i).tail(keys - seen).setZero();
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
    values = angles.sin();  // apart, since only then is it vectorised
    sines = values;
    values = angles.cos();
    cosines = values;
  }
}

void RotateRows(const float* input, int64_t head_count, int64_t length,
                int64_t dim, int64_t t, float* output) {
  using Pairs = Eigen::Array<std::complex<float>, 1, Eigen::Dynamic>;
  const auto angles = (static_cast<float>(t) * Frequencies(dim)).eval();
  Pairs turn(dim / 2);
  turn.real() = angles.cos();
  turn.imag() = angles.sin();
  for (int64_t head = 0; head < head_count; ++head) {
    const int64_t at = (head * length + t) * dim;
    const Eigen::Map<const Pairs> from(
        reinterpret_cast<const std::complex<float>*>(input + at), dim / 2);
    Eigen::Map<Pairs> to(reinterpret_cast<std::complex<float>*>(output + at),
                         dim / 2);
    to = from * turn;
  }
}

}  // namespace locus::bench::LOCUS_EIGEN_COPY
