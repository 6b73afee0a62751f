// What the scores of a query are relative to.
//
// A softmax does not change when a constant is added to all scores of a query.
// What is subtracted, in double, from an unbounded bias and from an additive
// mask is the largest value the query sees, so that what is left is small where
// it matters: a row masked by -1e9 throughout is not all alike.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BIAS_REFERENCE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_BIAS_REFERENCE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_BIAS_REFERENCE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_BIAS_REFERENCE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/score_terms.h"
#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_terms-inl.h"
#include "core/attention/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Of the block's first query that sees anything.
template <typename T>
double LargestOffsetBias(const Block<T>& b) {
  int64_t query = b.task.first_query;
  const int64_t last = query + b.query_count - 1;
  while (query < last && b.problem.VisibleKeys(query).empty()) ++query;
  const double* const bias = b.task.offset_bias.At(
      b.problem.query_positions[query], b.problem.key_positions[0]);
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t j = b.visible.first; j < b.visible.last; ++j) {
    largest = std::max(largest, bias[-j]);
  }
  return std::isfinite(largest) ? largest : 0;
}

// The largest number of the mask in the interval of a lane.
template <typename T>
double LargestOfMask(const Block<T>& b, int64_t lane) {
  constexpr Tag<T> d;
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const KeyInterval keys = b.VisibleKeys(lane);
  auto many = hn::Set(d, kNothing);
  T one = kNothing;
  for (int64_t first = keys.first; first < keys.last; first += kTileKeys) {
    const int64_t count = std::min(kTileKeys, keys.last - first);
    const T* const row = ReadMask(b, lane, first, count, b.rows);
    int64_t j = 0;
    // The operand that is returned for NaN is the second one.
    for (; j + Lanes<T>() <= count; j += Lanes<T>()) {
      many = hn::Max(hn::LoadU(d, row + j), many);
    }
    for (; j < count; ++j) one = std::max(one, row[j]);
  }
  return std::max(one, hn::GetLane(hn::MaxOfLanes(d, many)));
}

// Of the mask and the table's bias: shifts become the largest so far.
template <typename T>
void RaiseShifts(Block<T>& b, const Tile& tile) {
  constexpr Tag<double> d;
  const bool everything = b.AllSee(tile);
  FillMask(b, tile);
  if (!everything) FindFirstAndLast(b, tile);
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<double>()) {
    auto largest = hn::LoadU(d, b.shifts + lane);
    // The operand that is returned for NaN is the second one.
    const auto raise = [&](int64_t, Vector<double> term)
                           HWY_ATTR { largest = hn::Max(term, largest); };
    const auto first = LoadWide(b.first + lane);
    const auto last = LoadWide(b.last + lane);
    const auto raise_if_seen = [&](int64_t j, Vector<double> term) HWY_ATTR {
      const auto key = hn::Set(d, static_cast<double>(j));
      const auto sees = hn::And(hn::Ge(key, first), hn::Lt(key, last));
      largest = hn::IfThenElse(sees, hn::Max(term, largest), largest);
    };
    everything ? ForEachTerm(b, tile, lane, raise)
               : ForEachTerm(b, tile, lane, raise_if_seen);
    hn::StoreU(largest, d, b.shifts + lane);
  }
}

template <typename T>
void FindLargestTerms(Block<T>& b) {
  if (HasGeneralBias(b) && CanFillByVectors(b)) {
    std::fill_n(b.shifts, b.lanes, -std::numeric_limits<double>::infinity());
    for (int64_t n = b.FirstTile(); n <= b.LastTile(); ++n) {
      if (b.task.stopper->ShouldStop()) return;
      RaiseShifts(b, b.TileAt(n));
    }
    return;
  }
  const AddedTerms terms(b.problem, b.task.b, b.task.h, HasGeneralBias(b));
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    if (b.task.stopper->ShouldStop()) return;
    b.shifts[lane] =
        CanFillByVectors(b)
            ? LargestOfMask(b, lane)
            : terms.Largest(b.task.first_query + lane, b.VisibleKeys(lane));
  }
}

template <typename T>
void ComputeShifts(Block<T>& b) {
  if (b.task.bias_mode == BiasMode::kOffsets && !b.problem.bias->is_small()) {
    b.bias_shift = LargestOffsetBias(b);
  }
  if (!AddedTerms::CanBeLarge(b.problem, HasGeneralBias(b))) return;
  FindLargestTerms(b);
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    double& shift = b.shifts[lane];
    if (lane >= b.query_count || !std::isfinite(shift)) shift = 0;
    // Beyond this the twin's own double rounds away digits that matter.
    b.coarse |= std::abs(shift) > 1e9;
  }
}

// Whether a query ended up so far from what the block's biases are relative to
// that they lost digits on the way: a mask hid all keys near it.
template <typename T>
bool StrayedTooFar(const Block<T>& b) {
  if (b.task.bias_mode != BiasMode::kOffsets || !b.problem.mask ||
      b.problem.bias->is_small()) {
    return false;
  }
  constexpr T kFar = sizeof(T) == 4 ? 96 : 1 << 16;
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    if (b.running.sum[lane] != 0 && !(b.running.max[lane] >= -kFar))
      return true;
  }
  return false;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
