// One head of eigen_attention.h. The build compiles this file several times,
// with different instructions allowed and two macros: LOCUS_EIGEN_HEAD names
// the function, and Eigen renames Eigen's own namespace. Without the latter the
// linker would take the copies of a template for the same, and keep any one.
#include <Eigen/Core>
#include <cmath>

#include "tests/bench/eigen_attention.h"

namespace locus::bench {

void LOCUS_EIGEN_HEAD(const EigenHeads& heads, int64_t head) {
  using Matrix =
      Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const int64_t queries = heads.query_count;
  const int64_t keys = heads.key_count;
  const int64_t dim = heads.dim;
  const int64_t key_head = head * heads.key_head_count / heads.head_count;
  const Eigen::Map<const Matrix> q(heads.q + head * queries * dim, queries,
                                   dim);
  const Eigen::Map<const Matrix> k(heads.k + key_head * keys * dim, keys, dim);
  const Eigen::Map<const Matrix> v(heads.v + key_head * keys * dim, keys, dim);
  Eigen::Map<Matrix> output(heads.output + head * queries * dim, queries, dim);

  Matrix scores(queries, keys);
  scores.noalias() = q * k.transpose() / std::sqrt(static_cast<float>(dim));
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t seen = heads.causal && i < keys ? i + 1 : keys;
    auto row = scores.row(i).head(seen).array();
    row = (row - row.maxCoeff()).exp();
    row /= row.sum();
    scores.row(i).tail(keys - seen).setZero();
  }
  output.noalias() = scores * v;
}

}  // namespace locus::bench
