// Fused tiles: scores are turned into probabilities while they are in
// registers, relative to the running maximum of earlier tiles.
//
// A fused tile does not update the maximum, which makes it cheaper than a step
// of the online softmax. The first maximum is an estimate from a few keys. If
// the probabilities of a tile become too large, or NaN, the tile is processed
// again, unfused; sums and output have not been changed by then.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_FUSED_TILE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_FUSED_TILE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_FUSED_TILE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_FUSED_TILE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_output-inl.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/tile_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Updates minus_max and has_finite_maxima after the maxima have changed.
template <typename T>
void UpdateMaxima(Block<T>& b) {
  constexpr Tag<T> d;
  b.has_finite_maxima = true;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto max = hn::Load(d, b.running.max + lane);
    hn::Store(hn::Neg(max), d, b.running.minus_max + lane);
    b.has_finite_maxima &= hn::AllTrue(d, hn::IsFinite(max));
  }
}

// Whether the biases of these keys, relative to the reference of the block and
// in units of log2, lie within [-12, 12].
template <typename T>
bool HasSmallBias(Block<T>& b, const Tile& keys) {
  if (b.problem.bias == nullptr || b.problem.bias->is_bounded()) return true;
  const T* const biases = ToeplitzBias(b, keys);
  if (biases == nullptr) return false;
  const T* const first = biases - (keys.count - 1);
  return std::all_of(first, biases + b.lanes,
                     [](T bias) { return std::abs(bias) <= 12; });
}

// Estimates the first running maxima by the scores of one group of keys near
// the queries. The estimate differs from the true maximum by no more than
// scores usually differ. Leaves the maxima at -inf if the bias of these keys is
// large, or if a query sees none of them.
template <typename T>
void EstimateMaxima(Block<T>& b) {
  constexpr Tag<T> d;
  if (b.visible_to_all.empty()) return;
  const int64_t nearest =
      std::clamp(b.problem.query_offset + b.task.first_query,
                 b.visible_to_all.begin, b.visible_to_all.end - 1);
  const int64_t first =
      std::max(b.visible_to_any.begin, nearest) / kGroup * kGroup;
  const Tile sample{first / kTileKeys, first,
                    std::min(kGroup, b.visible_to_any.end - first)};
  if (!HasSmallBias(b, sample)) return;
  ComputeScores(b, sample);
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto max = hn::Load(d, b.scores + lane);
    for (int64_t j = 1; j < sample.count; ++j) {
      max = hn::Max(hn::Load(d, b.scores + j * kBlock<T> + lane), max);
    }
    hn::Store(max, d, b.running.max + lane);
  }
  UpdateMaxima(b);
  if (b.has_finite_maxima) return;
  std::fill_n(b.running.max, b.lanes, -std::numeric_limits<T>::infinity());
}

// Some keys of a tile and the lanes [lane, end_lane) of the queries that see at
// least one of them. Keys are whole groups, except for the last group of a
// tile; lanes are whole vectors.
struct LaneSlice {
  Tile keys;
  int64_t lane = 0;
  int64_t end_lane = 0;
  bool fully_visible = false;  // whether all lanes see all keys
};

// Keys of one slice where queries see different keys.
template <typename T>
constexpr int64_t kSliceKeys = std::max(Lanes<T>(), kGroup);

// The slice of the keys [begin, end) of a tile.
template <typename T>
LaneSlice MakeSlice(const Block<T>& b, const Tile& tile, int64_t begin,
                    int64_t end) {
  // Whether a query of the vector that begins at `lane` sees a key.
  const auto has_visible = [&](int64_t lane) {
    return b.VisibleKeys(lane + Lanes<T>() - 1).end > begin &&
           b.VisibleKeys(lane).begin < end;
  };
  int64_t lane = 0;
  int64_t end_lane = b.lanes;
  while (lane < end_lane && !has_visible(lane)) lane += Lanes<T>();
  while (lane < end_lane && !has_visible(end_lane - Lanes<T>())) {
    end_lane -= Lanes<T>();
  }
  return {tile.Subrange(begin, end), lane, end_lane, false};
}

// Calls body(slice) for the slices of a tile. The keys that every query sees
// form one slice; the keys before and after them are split into slices of
// kSliceKeys.
template <typename T, typename Body>
void ForEachSlice(const Block<T>& b, const Tile& tile, const Body& body) {
  const int64_t tile_end = tile.first + tile.count;
  int64_t begin =
      std::clamp(RoundUp(b.visible_to_all.begin, kGroup), tile.first, tile_end);
  int64_t end =
      std::clamp(b.visible_to_all.end / kGroup * kGroup, tile.first, tile_end);
  if (end == tile_end) end = end / kGroup * kGroup;
  if (begin >= end) begin = end = tile_end;
  const auto split = [&](int64_t from, int64_t to) HWY_ATTR {
    for (int64_t n = from; n < to; n += kSliceKeys<T>) {
      const LaneSlice slice =
          MakeSlice(b, tile, n, std::min(n + kSliceKeys<T>, to));
      if (slice.lane < slice.end_lane) body(slice);
    }
  };
  split(tile.first, begin);
  if (begin < end) {
    body(LaneSlice{tile.Subrange(begin, end), 0, b.lanes, true});
  }
  split(end, tile_end);
}

// Computes the probabilities of a slice; see tile-inl.h.
template <int kCount, typename T, typename ApplyMask>
void ComputeProbabilities(Block<T>& b, const LaneSlice& slice,
                          const TermView<T>& terms,
                          const ApplyMask& apply_mask) {
  const Tile& keys = slice.keys;
  ComputeProbabilities<T, kCount>(
      b.queries + slice.lane, b.task.head.keys + keys.first * b.problem.dim,
      b.problem.dim, keys.count, terms.From(slice.lane, keys.row),
      b.running.minus_max + slice.lane, apply_mask, b.tile_sums + slice.lane,
      b.scores + keys.row * kBlock<T> + slice.lane);
}

// Computes the probabilities of a slice whose keys are visible to all lanes.
template <int kCount, typename T>
void ProcessFullSlice(Block<T>& b, const LaneSlice& slice,
                      const TermView<T>& terms) {
  ComputeProbabilities<kCount>(
      b, slice, terms, [](int, int64_t, Vector<T> p) HWY_ATTR { return p; });
}

// Computes the probabilities of a slice in which each query sees an interval of
// keys.
template <int kCount, typename T>
void ProcessIntervalSlice(Block<T>& b, const LaneSlice& slice,
                          const TermView<T>& terms) {
  constexpr Tag<T> d;
  const T* const begin = b.visible_begin + slice.lane;
  const T* const end = b.visible_end + slice.lane;
  ComputeProbabilities<kCount>(
      b, slice, terms, [&](int v, int64_t j, Vector<T> p) HWY_ATTR {
        const auto key = hn::Set(d, static_cast<T>(slice.keys.row + j));
        const auto visible =
            hn::And(hn::Ge(key, hn::Load(d, begin + v * Lanes<T>())),
                    hn::Lt(key, hn::Load(d, end + v * Lanes<T>())));
        return hn::IfThenElseZero(visible, p);
      });
}

// Computes the probabilities of a slice whose hidden keys have a term of -inf.
template <int kCount, typename T>
void ProcessMaskedSlice(Block<T>& b, const LaneSlice& slice,
                        const TermView<T>& terms) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  const TermView<T> slice_terms = terms.From(slice.lane, slice.keys.row);
  ComputeProbabilities<kCount>(
      b, slice, terms, [&](int v, int64_t j, Vector<T> p) HWY_ATTR {
        const T* const term =
            slice_terms.first + j * slice_terms.stride + v * Lanes<T>();
        return hn::IfThenZeroElse(hn::Eq(hn::LoadU(d, term), hidden), p);
      });
}

// Adds the sums of a tile to the running sums and returns true, or returns
// false if a sum exceeds kMaxFusedSum or is NaN.
template <typename T>
bool AddSums(Block<T>& b) {
  constexpr Tag<T> d;
  const auto max_sum = hn::Set(d, T(kMaxFusedSum));
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.tile_sums + lane);
    if (!hn::AllTrue(d, hn::Le(sum, max_sum))) return false;
  }
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.running.sum + lane);
    hn::Store(hn::Add(sum, hn::Load(d, b.tile_sums + lane)), d,
              b.running.sum + lane);
  }
  return true;
}

// Sets b.terms to the sum of all terms of a tile, including the Toeplitz bias
// unless it is null, and returns a view of it. Hidden keys and the padding of
// the last group get -inf.
template <typename T>
TermView<T> GatherTerms(Block<T>& b, const Tile& tile, const T* bias) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  FillScoreTerms(b, tile);
  if (bias != nullptr) AddToeplitzBias(b, tile, bias, b.terms);
  if (!b.IsFullyVisible(tile)) HideInvisibleKeys(b, tile, b.terms);
  const int64_t padding = RoundUp(tile.count, kGroup) - tile.count;
  std::fill_n(b.terms + tile.count * kBlock<T>, padding * kBlock<T>, kHidden);
  return {b.terms, kBlock<T>};
}

// Processes a tile fused. Returns false, without having changed sums or output,
// if the probabilities are too large or NaN. `has_terms` says whether anything
// other than a Toeplitz bias is added to the scores.
template <typename T>
bool ProcessFusedTile(Block<T>& b, const Tile& tile, bool has_terms) {
  const T* const bias = ToeplitzBias(b, tile);
  const TermView<T> terms =
      has_terms ? GatherTerms(b, tile, bias) : TermView<T>{bias, -1};
  if (!has_terms && (!b.IsFullyVisible(tile) || tile.count % kGroup != 0)) {
    FindVisibleRanges(b, tile);
  }
  std::fill_n(b.tile_sums, b.lanes, T(0));
  ForEachSlice(b, tile, [&](const LaneSlice& slice) HWY_ATTR {
    WithVectors(
        (slice.end_lane - slice.lane) / Lanes<T>(), [&](auto vectors) HWY_ATTR {
          constexpr int kCount = decltype(vectors)::value;
          if (has_terms) return ProcessMaskedSlice<kCount>(b, slice, terms);
          slice.fully_visible ? ProcessFullSlice<kCount>(b, slice, terms)
                              : ProcessIntervalSlice<kCount>(b, slice, terms);
        });
  });
  if (!AddSums(b)) return false;
  ForEachSlice(b, tile, [&](const LaneSlice& slice) HWY_ATTR {
    AccumulateValues(b, slice.keys, slice.lane, slice.end_lane);
  });
  return true;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
