// Tiles taken in passing: scores become probabilities before they leave the
// registers, relative to a maximum that hardly ever has to change.
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
#include "core/attention/tiled/tile_scores-inl.h"
#include "core/attention/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// After the maxima have changed.
template <typename T>
void LookForMaxima(Block<T>& b) {
  constexpr Tag<T> d;
  b.has_maxima = true;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto max = hn::Load(d, b.running.max + lane);
    hn::Store(hn::Neg(max), d, b.running.minus_max + lane);
    b.has_maxima &= hn::AllTrue(d, hn::IsFinite(max));
  }
}

// Whether the bias keeps the scores of these keys within 2^12 of those that are
// nearest to each query.
template <typename T>
bool IsLevel(Block<T>& b, const Tile& keys) {
  if (b.problem.bias == nullptr || b.problem.bias->is_small()) return true;
  const T* const diagonal = Diagonal(b, keys);
  if (diagonal == nullptr) return false;
  const T* const first = diagonal - (keys.count - 1);
  return std::all_of(first, diagonal + b.lanes,
                     [](T bias) { return std::abs(bias) <= 12; });
}

// A maximum to begin with: the best of four keys, no further from the true one
// than ordinary scores are from each other. Not where a steep bias keeps them
// apart, nor where a query sees none of the four.
template <typename T>
void GuessMaxima(Block<T>& b) {
  constexpr Tag<T> d;
  if (b.inner.empty()) return;
  const int64_t last = std::clamp(b.problem.query_offset + b.task.first_query,
                                  b.inner.first, b.inner.last - 1);
  const int64_t first = std::max(b.visible.first, last) / kGroup * kGroup;
  const Tile four{first / kTileKeys, first,
                  std::min(kGroup, b.visible.last - first)};
  if (!IsLevel(b, four)) return;
  ComputeScores(b, four);
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto max = hn::Load(d, b.scores + lane);
    for (int64_t j = 1; j < four.count; ++j) {
      max = hn::Max(hn::Load(d, b.scores + j * kBlock<T> + lane), max);
    }
    hn::Store(max, d, b.running.max + lane);
  }
  LookForMaxima(b);
  if (b.has_maxima) return;
  std::fill_n(b.running.max, b.lanes, -std::numeric_limits<T>::infinity());
}

// Some keys of a tile, whole groups but for the tile's last, and the lanes of
// the queries that see any of them, in whole vectors.
struct Part {
  Tile keys;
  int64_t lane = 0;
  int64_t last_lane = 0;
  bool everything = false;  // whether those see all of the keys
};

// So many keys are looked at together where queries see different ones.
template <typename T>
constexpr int64_t kSliceKeys = std::max(Lanes<T>(), kGroup);

template <typename T>
Part SliceOf(const Block<T>& b, const Tile& tile, int64_t first, int64_t last) {
  const auto sees = [&](int64_t lane) {
    return b.VisibleKeys(lane + Lanes<T>() - 1).last > first &&
           b.VisibleKeys(lane).first < last;
  };
  int64_t lane = 0;
  int64_t last_lane = b.lanes;
  while (lane < last_lane && !sees(lane)) lane += Lanes<T>();
  while (lane < last_lane && !sees(last_lane - Lanes<T>())) {
    last_lane -= Lanes<T>();
  }
  return {tile.From(first, last), lane, last_lane, false};
}

// body(part): what every query sees as one part, what is before and behind it
// slice by slice.
template <typename T, typename Body>
void ForEachPart(const Block<T>& b, const Tile& tile, const Body& body) {
  const int64_t end = tile.first + tile.count;
  int64_t first = std::clamp(RoundUp(b.inner.first, kGroup), tile.first, end);
  int64_t last = std::clamp(b.inner.last / kGroup * kGroup, tile.first, end);
  if (last == end) last = last / kGroup * kGroup;
  if (first >= last) first = last = end;
  const auto slices = [&](int64_t from, int64_t to) HWY_ATTR {
    for (int64_t n = from; n < to; n += kSliceKeys<T>) {
      const Part part = SliceOf(b, tile, n, std::min(n + kSliceKeys<T>, to));
      if (part.lane < part.last_lane) body(part);
    }
  };
  slices(tile.first, first);
  if (first < last) body(Part{tile.From(first, last), 0, b.lanes, true});
  slices(last, end);
}

template <int kCount, typename T, typename Shows>
void TakeProbabilities(Block<T>& b, const Part& part, const Terms<T>& terms,
                       const Shows& shows) {
  const Tile& keys = part.keys;
  TakeProbabilities<T, kCount>(
      b.queries + part.lane, b.task.head.keys + keys.first * b.problem.dim,
      b.problem.dim, keys.count, terms.From(part.lane, keys.row),
      b.running.minus_max + part.lane, shows, b.tile_sums + part.lane,
      b.scores + keys.row * kBlock<T> + part.lane);
}

// What every query of the part sees.
template <int kCount, typename T>
void TakeWhole(Block<T>& b, const Part& part, const Terms<T>& terms) {
  TakeProbabilities<kCount>(
      b, part, terms, [](int, int64_t, Vector<T> p) HWY_ATTR { return p; });
}

// Each query sees an interval of its own.
template <int kCount, typename T>
void TakeIntervals(Block<T>& b, const Part& part, const Terms<T>& terms) {
  constexpr Tag<T> d;
  const T* const first = b.first + part.lane;
  const T* const last = b.last + part.lane;
  TakeProbabilities<kCount>(
      b, part, terms, [&](int v, int64_t j, Vector<T> p) HWY_ATTR {
        const auto key = hn::Set(d, static_cast<T>(part.keys.row + j));
        const auto sees =
            hn::And(hn::Ge(key, hn::Load(d, first + v * Lanes<T>())),
                    hn::Lt(key, hn::Load(d, last + v * Lanes<T>())));
        return hn::IfThenElseZero(sees, p);
      });
}

// What is not to be seen has -inf among the terms.
template <int kCount, typename T>
void TakeUnhidden(Block<T>& b, const Part& part, const Terms<T>& terms) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  const Terms<T> own = terms.From(part.lane, part.keys.row);
  TakeProbabilities<kCount>(
      b, part, terms, [&](int v, int64_t j, Vector<T> p) HWY_ATTR {
        const T* const term = own.first + j * own.stride + v * Lanes<T>();
        return hn::IfThenZeroElse(hn::Eq(hn::LoadU(d, term), hidden), p);
      });
}

// Adds what the tile sums to, unless that is too much, or NaN.
template <typename T>
bool AddSums(Block<T>& b) {
  constexpr Tag<T> d;
  const auto most = hn::Set(d, T(kMostInPassing));
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.tile_sums + lane);
    if (!hn::AllTrue(d, hn::Le(sum, most))) return false;
  }
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.running.sum + lane);
    hn::Store(hn::Add(sum, hn::Load(d, b.tile_sums + lane)), d,
              b.running.sum + lane);
  }
  return true;
}

// All that is added to the scores of a tile, -inf where a query does not see a
// key, those included that fill up the last group.
template <typename T>
Terms<T> GatherTerms(Block<T>& b, const Tile& tile, const T* diagonal) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  FillAdded(b, tile);
  if (diagonal != nullptr) AddDiagonal(b, tile, diagonal, b.added);
  if (!b.AllSee(tile)) HideOutside(b, tile, b.added);
  const int64_t missing = RoundUp(tile.count, kGroup) - tile.count;
  std::fill_n(b.added + tile.count * kBlock<T>, missing * kBlock<T>, kHidden);
  return {b.added, kBlock<T>};
}

// Whether it did; if not, nothing has changed. `adds` says whether more is
// added to scores than a bias by offset.
template <typename T>
bool TakeInPassing(Block<T>& b, const Tile& tile, bool adds) {
  const T* const diagonal = Diagonal(b, tile);
  const Terms<T> terms =
      adds ? GatherTerms(b, tile, diagonal) : Terms<T>{diagonal, -1};
  if (!adds && (!b.AllSee(tile) || tile.count % kGroup != 0)) {
    FindFirstAndLast(b, tile);
  }
  std::fill_n(b.tile_sums, b.lanes, T(0));
  ForEachPart(b, tile, [&](const Part& part) HWY_ATTR {
    WithVectors((part.last_lane - part.lane) / Lanes<T>(),
                [&](auto vectors) HWY_ATTR {
                  constexpr int kCount = decltype(vectors)::value;
                  if (adds) return TakeUnhidden<kCount>(b, part, terms);
                  part.everything ? TakeWhole<kCount>(b, part, terms)
                                  : TakeIntervals<kCount>(b, part, terms);
                });
  });
  if (!AddSums(b)) return false;
  ForEachPart(b, tile, [&](const Part& part) HWY_ATTR {
    AccumulateValues(b, part.keys, part.lane, part.last_lane);
  });
  return true;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
