// Reads, rotates and packs the queries of a block.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BLOCK_QUERIES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_BLOCK_QUERIES_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_BLOCK_QUERIES_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_BLOCK_QUERIES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/rows.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Sets `rows` to the rotated queries of one vector of lanes. Lanes without a
// query get a row of zeros.
template <typename T>
void ReadQueries(const Block<T>& b, int64_t lane,
                 const T* (&rows)[Lanes<T>()]) {
  const int64_t dim = b.problem.dim;
  const int64_t i = b.task.first_query + lane;
  const int64_t count = std::min(Lanes<T>(), b.query_count - lane);
  RowAngles<T> angles;
  if (b.problem.rotation) {
    const int64_t angle = i * b.problem.rotation->pair_count();
    angles = {&*b.problem.rotation, b.task.query_cos + angle,
              b.task.query_sin + angle};
  }
  const T* const queries =
      ReadRows<T>(b.problem.inputs.q, b.problem.QueryRow(b.task.b, b.task.h, i),
                  count, dim, angles, b.row_buffer);
  for (int64_t r = 0; r < Lanes<T>(); ++r) {
    rows[r] = r < count ? queries + r * dim : b.row_buffer + count * dim;
  }
  if (count < Lanes<T>()) std::fill_n(b.row_buffer + count * dim, dim, T(0));
}

// Sets b.query_norms to the Euclidean norms of the packed queries.
template <typename T>
void ComputeQueryNorms(Block<T>& b) {
  constexpr Tag<T> d;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto sum = hn::Zero(d);
    for (int64_t c = 0; c < b.problem.dim; ++c) {
      const auto x = hn::Load(d, b.queries + c * kBlock<T> + lane);
      sum = hn::MulAdd(x, x, sum);
    }
    hn::Store(hn::Sqrt(sum), d, b.query_norms + lane);
  }
}

// Sets b.queries, [D, kBlock], to the rotated and scaled queries. The scale
// includes log2(e), so that scores are in units of log2, or 1 / softcap.
template <typename T>
void PackQueries(Block<T>& b) {
  const int64_t dim = b.problem.dim;
  const double unit = b.problem.softcap > 0 ? 1 / b.problem.softcap : kLog2E;
  const T factor = static_cast<T>(b.problem.scale * unit);
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const T* rows[Lanes<T>()];
    ReadQueries<T>(b, lane, rows);
    RowsToColumns<T>(rows, dim, factor, kBlock<T>, b.queries + lane);
  }
  if (b.task.prune) ComputeQueryNorms(b);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
