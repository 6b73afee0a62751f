// The scores of a tile: products, cap, bias, mask, and what a query does not
// see.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_TILE_SCORES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_TILE_SCORES_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_TILE_SCORES_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_TILE_SCORES_INL_H_
#endif

#include <cstdint>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_terms-inl.h"
#include "core/attention/tiled/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <int kCount, typename T>
void MultiplyKeys(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  for (int64_t j = 0; j < tile.count; j += kGroup) {
    RankOneUpdates<T, kCount>(
        b.queries, b.task.head.keys + (tile.first + j) * b.problem.dim,
        b.problem.dim, [](int, int) HWY_ATTR { return hn::Zero(Tag<T>()); },
        [&](int g, int v, Vector<T> sum) HWY_ATTR {
          hn::Store(sum, d, b.scores + (j + g) * kBlock<T> + v * Lanes<T>());
        });
  }
}

template <typename T>
void CapScores(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto cap = hn::Set(d, static_cast<T>(b.problem.softcap * kLog2E));
  ForEachScore(b, tile, [&](T* place, int64_t, int64_t) HWY_ATTR {
    hn::Store(hn::Mul(cap, hn::Tanh(d, hn::Load(d, place))), d, place);
  });
}

// Where the bias of query lane and key tile.first + j stands, at lane - j;
// null if it comes in another way. Keys that fill up the last group have
// places, too.
template <typename T>
const T* Diagonal(Block<T>& b, const Tile& tile) {
  if (b.task.bias_mode != BiasMode::kOffsets) return nullptr;
  const double* const from =
      b.task.offset_bias.At(b.problem.query_positions[b.task.first_query],
                            b.problem.key_positions[tile.first]) -
      (tile.count - 1);
  T* const diagonal = b.diagonal + kGroup;
  for (int64_t n = 0; n < tile.count - 1 + b.lanes; ++n) {
    diagonal[n] = static_cast<T>((from[n] - b.bias_shift) * kLog2E);
  }
  return diagonal + tile.count - 1;
}

// matrix: [tile.count, kBlock].
template <typename T>
void AddDiagonal(Block<T>& b, const Tile& tile, const T* diagonal, T* matrix) {
  constexpr Tag<T> d;
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const place = matrix + j * kBlock<T> + lane;
    const auto bias = hn::LoadU(d, diagonal + lane - j);
    hn::Store(hn::Add(hn::Load(d, place), bias), d, place);
  });
}

// -inf hides whatever the score is, NaN included.
template <typename T>
void AddAdded(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
    const auto added = hn::Load(d, b.added + j * kBlock<T> + lane);
    const auto sum = hn::Add(hn::Load(d, place), added);
    hn::Store(hn::IfThenElse(hn::Eq(added, hidden), hidden, sum), d, place);
  });
}

// Hides the keys outside each query's interval; matrix: [tile.count, kBlock].
template <typename T>
void HideOutside(Block<T>& b, const Tile& tile, T* matrix) {
  constexpr Tag<T> d;
  FindFirstAndLast(b, tile);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const place = matrix + j * kBlock<T> + lane;
    const auto key = hn::Set(d, static_cast<T>(j));
    const auto visible = hn::And(hn::Ge(key, hn::Load(d, b.first + lane)),
                                 hn::Lt(key, hn::Load(d, b.last + lane)));
    hn::Store(hn::IfThenElse(visible, hn::Load(d, place), hidden), d, place);
  });
}

// scores_: [tile.count, kBlock], -inf where hidden.
template <typename T>
void ComputeScores(Block<T>& b, const Tile& tile) {
  WithVectors(b.lanes / Lanes<T>(), [&](auto vectors) HWY_ATTR {
    MultiplyKeys<decltype(vectors)::value>(b, tile);
  });
  if (b.problem.softcap > 0) CapScores(b, tile);
  if (const T* diagonal = Diagonal(b, tile)) {
    AddDiagonal(b, tile, diagonal, b.scores);
  }
  if (b.problem.mask || HasGeneralBias(b)) {
    FillAdded(b, tile);
    AddAdded(b, tile);
  }
  if (!b.AllSee(tile)) HideOutside(b, tile, b.scores);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
