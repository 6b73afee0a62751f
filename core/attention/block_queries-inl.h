// The queries of a block, and what their scores are relative to.
//
// Included once for each target; see core/base/simd.h.
#if defined(LOCUS_CORE_ATTENTION_BLOCK_QUERIES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_BLOCK_QUERIES_INL_H_
#undef LOCUS_CORE_ATTENTION_BLOCK_QUERIES_INL_H_
#else
#define LOCUS_CORE_ATTENTION_BLOCK_QUERIES_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/added_terms.h"
#include "core/attention/block-inl.h"
#include "core/attention/rows.h"
#include "core/attention/tile-inl.h"
#include "core/attention/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// A vector of queries; zeros where there is none.
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
                  count, dim, angles, b.rows);
  for (int64_t r = 0; r < Lanes<T>(); ++r) {
    rows[r] = r < count ? queries + r * dim : b.rows + count * dim;
  }
  if (count < Lanes<T>()) std::fill_n(b.rows + count * dim, dim, T(0));
}

// norms_: of each packed query.
template <typename T>
void MeasureQueries(Block<T>& b) {
  constexpr Tag<T> d;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto sum = hn::Zero(d);
    for (int64_t c = 0; c < b.problem.dim; ++c) {
      const auto x = hn::Load(d, b.queries + c * kBlock<T> + lane);
      sum = hn::MulAdd(x, x, sum);
    }
    hn::Store(hn::Sqrt(sum), d, b.norms + lane);
  }
}

// queries_: [D, kBlock], rotated and scaled; lanes without a query are zero.
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
  if (b.task.prune) MeasureQueries(b);
}

// Of the block's first query that sees anything.
template <typename T>
double LargestOffsetBias(const Block<T>& b) {
  int64_t query = b.task.first_query;
  const int64_t last = query + b.query_count - 1;
  while (query < last && b.problem.VisibleKeys(query).empty()) ++query;
  const double* const bias =
      b.task.offset_bias + b.problem.key_count - 1 + query;
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t j = b.visible.first; j < b.visible.last; ++j) {
    largest = std::max(largest, bias[-j]);
  }
  return std::isfinite(largest) ? largest : 0;
}

// A softmax does not change when a constant is added to all scores of a
// query. What is subtracted, in double, from an unbounded bias and from an
// additive mask is the largest value the query sees, so that what is left is
// small where it matters: a row masked by -1e9 throughout is not all alike.
template <typename T>
void ComputeShifts(Block<T>& b) {
  if (b.task.bias_mode == BiasMode::kOffsets && !b.problem.bias->is_small()) {
    b.bias_shift = LargestOffsetBias(b);
    std::fill_n(b.shifts, kBlock<T>, b.bias_shift);
  } else if (AddedTerms::CanBeLarge(b.problem,
                                    b.task.bias_mode == BiasMode::kGeneral)) {
    const AddedTerms terms(b.problem, b.task.b, b.task.h,
                           b.task.bias_mode == BiasMode::kGeneral);
    for (int64_t lane = 0; lane < b.query_count; ++lane) {
      if (b.task.stopper->ShouldStop()) return;
      const int64_t i = b.task.first_query + lane;
      b.shifts[lane] = terms.Largest(i, b.problem.VisibleKeys(i));
      // Beyond this the twin's own double rounds away digits that matter.
      b.coarse |= std::abs(b.shifts[lane]) > 1e9;
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
