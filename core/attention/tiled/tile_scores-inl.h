// Scores of an unfused tile: dot products, soft cap, bias, mask and visibility.
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

// Sets b.scores to the dot products of kCount vectors of queries with the keys
// of a tile.
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

// Applies the soft cap. Queries are scaled by 1 / softcap when they are packed.
template <typename T>
void CapScores(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto cap = hn::Set(d, static_cast<T>(b.problem.softcap * kLog2E));
  ForEachScore(b, tile, [&](T* score, int64_t, int64_t) HWY_ATTR {
    hn::Store(hn::Mul(cap, hn::Tanh(d, hn::Load(d, score))), d, score);
  });
}

// In BiasMode::kOffsets, computes the biases of a tile, relative to the bias
// reference of the block, and returns a pointer p such that p[lane - j] is the
// bias of the query in `lane` and key tile.first + j. The padding of the last
// group is readable, too. Returns null in other modes.
template <typename T>
const T* ToeplitzBias(Block<T>& b, const Tile& tile) {
  if (b.task.bias_mode != BiasMode::kOffsets) return nullptr;
  const double* const table =
      b.task.offset_bias.At(b.problem.query_positions[b.task.first_query],
                            b.problem.key_positions[tile.first]) -
      (tile.count - 1);
  T* const bias = b.toeplitz_bias + kGroup;
  for (int64_t n = 0; n < tile.count - 1 + b.lanes; ++n) {
    bias[n] = static_cast<T>((table[n] - b.bias_reference) * kLog2E);
  }
  return bias + tile.count - 1;
}

// Adds the result of ToeplitzBias() to a matrix [tile.count, kBlock].
template <typename T>
void AddToeplitzBias(Block<T>& b, const Tile& tile, const T* bias, T* matrix) {
  constexpr Tag<T> d;
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const element = matrix + j * kBlock<T> + lane;
    hn::Store(hn::Add(hn::Load(d, element), hn::LoadU(d, bias + lane - j)), d,
              element);
  });
}

// Adds b.terms to b.scores. A term of -inf hides the key even if its score is
// NaN.
template <typename T>
void AddScoreTerms(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T* score, int64_t j, int64_t lane) HWY_ATTR {
    const auto term = hn::Load(d, b.terms + j * kBlock<T> + lane);
    const auto sum = hn::Add(hn::Load(d, score), term);
    hn::Store(hn::IfThenElse(hn::Eq(term, hidden), hidden, sum), d, score);
  });
}

// Sets the elements of keys outside the visible interval of their query to
// -inf. matrix: [tile.count, kBlock].
template <typename T>
void HideInvisibleKeys(Block<T>& b, const Tile& tile, T* matrix) {
  constexpr Tag<T> d;
  FindVisibleRanges(b, tile);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const element = matrix + j * kBlock<T> + lane;
    const auto key = hn::Set(d, static_cast<T>(j));
    const auto visible =
        hn::And(hn::Ge(key, hn::Load(d, b.visible_begin + lane)),
                hn::Lt(key, hn::Load(d, b.visible_end + lane)));
    hn::Store(hn::IfThenElse(visible, hn::Load(d, element), hidden), d,
              element);
  });
}

// Sets b.scores, [tile.count, kBlock], to the scores of a tile in units of
// log2; -inf for hidden keys.
template <typename T>
void ComputeScores(Block<T>& b, const Tile& tile) {
  WithVectors(b.lanes / Lanes<T>(), [&](auto vectors) HWY_ATTR {
    MultiplyKeys<decltype(vectors)::value>(b, tile);
  });
  if (b.problem.softcap > 0) CapScores(b, tile);
  if (const T* bias = ToeplitzBias(b, tile)) {
    AddToeplitzBias(b, tile, bias, b.scores);
  }
  if (b.problem.mask || HasGeneralBias(b)) {
    FillScoreTerms(b, tile);
    AddScoreTerms(b, tile);
  }
  if (!b.IsFullyVisible(tile)) HideInvisibleKeys(b, tile, b.scores);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
