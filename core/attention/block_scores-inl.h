// The scores of a tile: products, cap, bias, mask, and what a query does not
// see.
//
// Included once for each target; see core/base/simd.h.
#if defined(LOCUS_CORE_ATTENTION_BLOCK_SCORES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_BLOCK_SCORES_INL_H_
#undef LOCUS_CORE_ATTENTION_BLOCK_SCORES_INL_H_
#else
#define LOCUS_CORE_ATTENTION_BLOCK_SCORES_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/attention/added_terms.h"
#include "core/attention/block-inl.h"
#include "core/attention/relative_terms-inl.h"
#include "core/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Whether the mask has a byte for each key.
template <typename T>
bool HasBoolMask(const Block<T>& b) {
  return b.problem.mask && b.problem.mask->tensor.dtype == DType::kBool &&
         b.problem.mask->key_stride == 1;
}

template <typename T>
const char* MaskRow(const Block<T>& b, int64_t lane, int64_t key) {
  const Mask& mask = *b.problem.mask;
  return mask.tensor.at(
      mask.Element(b.task.b, b.task.h, b.task.first_query + lane, key));
}

// What a mask lets through. Only of a mask of bools is it found out.
enum class Sight { kNothing, kSomething, kEverything };

template <typename T>
Sight LookThroughMask(const Block<T>& b, const Tile& tile) {
  if (!b.problem.mask) return Sight::kEverything;
  if (!HasBoolMask(b)) return Sight::kSomething;
  const auto size = static_cast<size_t>(tile.count);
  const int64_t rows = b.problem.mask->query_stride == 0 ? 1 : b.query_count;
  bool everything = true;
  bool nothing = true;
  for (int64_t lane = 0; lane < rows; ++lane) {
    const char* const row = MaskRow(b, lane, tile.first);
    everything = everything && std::memchr(row, 0, size) == nullptr;
    nothing = nothing && *row == 0 && std::memcmp(row, row + 1, size - 1) == 0;
    if (!everything && !nothing) return Sight::kSomething;
  }
  return everything ? Sight::kEverything : Sight::kNothing;
}

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
// null if it comes in another way.
template <typename T>
const T* Diagonal(Block<T>& b, const Tile& tile) {
  if (b.task.bias_mode != BiasMode::kOffsets) return nullptr;
  const double* const from = b.task.offset_bias + (b.problem.key_count - 1) +
                             (b.task.first_query - tile.first) -
                             (tile.count - 1);
  for (int64_t n = 0; n < tile.count - 1 + b.lanes; ++n) {
    b.diagonal[n] = static_cast<T>((from[n] - b.bias_shift) * kLog2E);
  }
  return b.diagonal + tile.count - 1;
}

template <typename T>
void AddDiagonal(Block<T>& b, const Tile& tile, const T* diagonal) {
  constexpr Tag<T> d;
  ForEachScore(b, tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
    const auto bias = hn::LoadU(d, diagonal + lane - j);
    hn::Store(hn::Add(hn::Load(d, place), bias), d, place);
  });
}

// The same where only a mask of bools is added.
template <typename T>
void FillHidden(Block<T>& b, const Tile& tile) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  std::fill_n(b.added, tile.count * kBlock<T>, T(0));
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const char* const row = MaskRow(b, lane, tile.first);
    for (int64_t j = 0; j < tile.count; ++j) {
      b.added[j * kBlock<T> + lane] = row[j] != 0 ? T(0) : kHidden;
    }
  }
}

// Next to a huge shift, scores keep only the digits that double leaves them.
template <typename T>
void RoundLikeDouble(double value, T* score) {
  if (!std::isfinite(value)) return;
  *score = static_cast<T>(((*score * kLn2 + value) - value) * kLog2E);
}

// added_: [tile.count, kBlock], relative to the shifts, in units of log2.
template <typename T>
void FillAdded(Block<T>& b, const Tile& tile) {
  if (HasBoolMask(b) && b.task.bias_mode != BiasMode::kGeneral) {
    return FillHidden(b, tile);
  }
  const AddedTerms terms(b.problem, b.task.b, b.task.h,
                         b.task.bias_mode == BiasMode::kGeneral);
  double values[kTileKeys];
  T relative[kTileKeys];
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    if (lane < b.query_count) {
      terms.Row(b.task.first_query + lane, tile.first, tile.count, values);
      RelativeTerms<T>(values, tile.count, b.shifts[lane], relative);
    } else {
      std::fill_n(relative, tile.count, T(0));
    }
    for (int64_t j = 0; j < tile.count; ++j) {
      b.added[j * kBlock<T> + lane] = relative[j];
    }
    if (!b.coarse || lane >= b.query_count) continue;
    for (int64_t j = 0; j < tile.count; ++j) {
      RoundLikeDouble(values[j], &b.scores[j * kBlock<T> + lane]);
    }
  }
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

// first and last: of the keys that each query sees of a tile. Indices relative
// to the tile are small and exact in T.
template <typename T>
void FindFirstAndLast(Block<T>& b, const Tile& tile) {
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    const KeyInterval visible = b.VisibleKeys(lane);
    b.first[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.first - tile.first, 0, tile.count));
    b.last[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.last - tile.first, 0, tile.count));
  }
}

// Hides the keys outside each query's interval.
template <typename T>
void HideOutside(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  FindFirstAndLast(b, tile);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
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
  if (const T* diagonal = Diagonal(b, tile)) AddDiagonal(b, tile, diagonal);
  if (b.problem.mask || b.task.bias_mode == BiasMode::kGeneral) {
    FillAdded(b, tile);
    AddAdded(b, tile);
  }
  if (!b.AllSee(tile)) HideOutside(b, tile);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
