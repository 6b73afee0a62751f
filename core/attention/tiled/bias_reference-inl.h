// References of score terms.
//
// A softmax does not change when a constant is added to all scores of a query.
// The kernel therefore subtracts a reference, in double, from unbounded biases
// and additive masks before it rounds them to T: the largest term of the keys
// that the query sees. The remaining terms are small for the keys that matter,
// so that scores keep their precision even if a mask adds -1e9 to a whole row.
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

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_terms-inl.h"
#include "core/attention/tiled/score_terms.h"
#include "core/attention/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// The bias reference of a block in BiasMode::kOffsets: the largest bias of the
// first query that has visible keys, over the keys visible to the block.
template <typename T>
double MaxOffsetBias(const Block<T>& b) {
  int64_t query = b.task.first_query;
  const int64_t last = query + b.query_count - 1;
  while (query < last && b.problem.VisibleKeys(query).empty()) ++query;
  const double* const bias = b.task.offset_bias.At(
      b.problem.query_positions[query], b.problem.key_positions[0]);
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t j = b.visible_to_any.begin; j < b.visible_to_any.end; ++j) {
    max = std::max(max, bias[-j]);
  }
  return std::isfinite(max) ? max : 0;
}

// The largest mask term of the keys in the visible interval of a lane.
template <typename T>
double MaxMaskTerm(const Block<T>& b, int64_t lane) {
  constexpr Tag<T> d;
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  const KeyInterval keys = b.VisibleKeys(lane);
  auto vector_max = hn::Set(d, kHidden);
  T max = kHidden;
  for (int64_t first = keys.begin; first < keys.end; first += kTileKeys) {
    const int64_t count = std::min(kTileKeys, keys.end - first);
    const T* const row = ReadMask(b, lane, first, count, b.row_buffer);
    int64_t j = 0;
    // If an operand is NaN, Max returns the second one: NaNs are ignored.
    for (; j + Lanes<T>() <= count; j += Lanes<T>()) {
      vector_max = hn::Max(hn::LoadU(d, row + j), vector_max);
    }
    for (; j < count; ++j) max = std::max(max, row[j]);
  }
  return std::max(max, hn::GetLane(hn::MaxOfLanes(d, vector_max)));
}

// Raises the references to the largest visible terms of a tile, where a term is
// the sum of the mask and the bias of the table.
template <typename T>
void RaiseReferences(Block<T>& b, const Tile& tile) {
  constexpr Tag<double> d;
  const bool fully_visible = b.IsFullyVisible(tile);
  FillMask(b, tile);
  if (!fully_visible) FindVisibleRanges(b, tile);
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<double>()) {
    auto max = hn::LoadU(d, b.references + lane);
    // If an operand is NaN, Max returns the second one: NaNs are ignored.
    const auto raise = [&](int64_t, Vector<double> term)
                           HWY_ATTR { max = hn::Max(term, max); };
    const auto begin = LoadWide(b.visible_begin + lane);
    const auto end = LoadWide(b.visible_end + lane);
    const auto raise_if_visible = [&](int64_t j, Vector<double> term) HWY_ATTR {
      const auto key = hn::Set(d, static_cast<double>(j));
      const auto visible = hn::And(hn::Ge(key, begin), hn::Lt(key, end));
      max = hn::IfThenElse(visible, hn::Max(term, max), max);
    };
    fully_visible ? ForEachTerm(b, tile, lane, raise)
                  : ForEachTerm(b, tile, lane, raise_if_visible);
    hn::StoreU(max, d, b.references + lane);
  }
}

// Sets b.references to the largest visible term of each query.
template <typename T>
void FindMaxTerms(Block<T>& b) {
  if (HasGeneralBias(b) && CanFillByVectors(b)) {
    std::fill_n(b.references, b.lanes,
                -std::numeric_limits<double>::infinity());
    for (int64_t n = b.FirstTile(); n <= b.LastTile(); ++n) {
      if (b.task.cancellation->ShouldStop()) return;
      RaiseReferences(b, b.TileAt(n));
    }
    return;
  }
  const ScoreTerms terms(b.problem, b.task.b, b.task.h, HasGeneralBias(b));
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    if (b.task.cancellation->ShouldStop()) return;
    b.references[lane] =
        CanFillByVectors(b)
            ? MaxMaskTerm(b, lane)
            : terms.Max(b.task.first_query + lane, b.VisibleKeys(lane));
  }
}

// Sets b.bias_reference, b.references and b.needs_double_rounding.
template <typename T>
void ComputeReferences(Block<T>& b) {
  if (b.task.bias_mode == BiasMode::kOffsets && !b.problem.bias->is_bounded()) {
    b.bias_reference = MaxOffsetBias(b);
  }
  if (!ScoreTerms::CanBeLarge(b.problem, HasGeneralBias(b))) return;
  FindMaxTerms(b);
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    double& reference = b.references[lane];
    if (lane >= b.query_count || !std::isfinite(reference)) reference = 0;
    // Beyond this limit the reference implementation, which adds such terms in
    // double, loses digits of the scores that matter.
    b.needs_double_rounding |= std::abs(reference) > 1e9;
  }
}

// Whether the maximum of a query is so far below the bias reference of the
// block that rounding the biases to T lost precision. This happens if a mask
// hides all keys near the query. The block must then be recomputed in
// BiasMode::kGeneral.
template <typename T>
bool LostPrecision(const Block<T>& b) {
  if (b.task.bias_mode != BiasMode::kOffsets || !b.problem.mask ||
      b.problem.bias->is_bounded()) {
    return false;
  }
  constexpr T kMaxDistance = sizeof(T) == 4 ? 96 : 1 << 16;
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    if (b.running.sum[lane] != 0 && !(b.running.max[lane] >= -kMaxDistance)) {
      return true;
    }
  }
  return false;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
