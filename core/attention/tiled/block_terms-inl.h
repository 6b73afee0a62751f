// What is added to scores one by one: a mask, and a bias where positions do not
// follow one another or where it is too large for all of a block's queries to
// share what it is relative to.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BLOCK_TERMS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_BLOCK_TERMS_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_BLOCK_TERMS_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_BLOCK_TERMS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/score_terms.h"
#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/relative_terms-inl.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <typename T>
bool HasGeneralBias(const Block<T>& b) {
  return b.task.bias_mode == BiasMode::kGeneral;
}

// Of the query of a lane; lanes without one have the last one's.
template <typename T>
const char* MaskRow(const Block<T>& b, int64_t lane, int64_t key) {
  const Mask& mask = *b.problem.mask;
  const int64_t i = b.task.first_query + std::min(lane, b.query_count - 1);
  return mask.tensor.at(mask.Element(b.task.b, b.task.h, i, key));
}

// What a mask lets through. Only of one with a bool for each key is it found
// out.
enum class Sight { kNothing, kSomething, kEverything };

template <typename T>
Sight LookThroughMask(const Block<T>& b, const Tile& tile) {
  if (!b.problem.mask) return Sight::kEverything;
  const Mask& mask = *b.problem.mask;
  if (mask.tensor.dtype != DType::kBool || mask.key_stride != 1) {
    return Sight::kSomething;
  }
  const auto size = static_cast<size_t>(tile.count);
  const int64_t rows = mask.query_stride == 0 ? 1 : b.query_count;
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

// Whether T holds every number of the mask as it is.
template <typename T>
bool HoldsMask(const Block<T>& b) {
  return sizeof(T) == sizeof(double) || !b.problem.mask ||
         b.problem.mask->tensor.dtype != DType::kFloat64;
}

// The mask's numbers for one lane and some keys as T, bools as 0 and -inf:
// where they lie, or in `own`.
template <typename T>
const T* ReadMask(const Block<T>& b, int64_t lane, int64_t key, int64_t count,
                  T* own) {
  const Mask& mask = *b.problem.mask;
  const char* const row = MaskRow(b, lane, key);
  const int64_t stored =
      mask.key_stride == 0 ? std::min<int64_t>(count, 1) : count;
  if (mask.tensor.dtype == DType::kBool) {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < stored; ++j) own[j] = row[j] != 0 ? T(0) : kHidden;
  } else if (stored == count && IsArrayOf<T>(mask.tensor.dtype, row)) {
    return reinterpret_cast<const T*>(row);
  } else {
    ReadRow(mask.tensor.dtype, row, stored, own);
  }
  if (stored < count) std::fill_n(own + stored, count - stored, own[0]);
  return own;
}

// added: the mask, [tile.count, kBlock]; zeros if there is none.
template <typename T>
void FillMask(Block<T>& b, const Tile& tile) {
  if (!b.problem.mask) {
    std::fill_n(b.added, tile.count * kBlock<T>, T(0));
    return;
  }
  const bool shared = b.problem.mask->query_stride == 0;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const T* rows[Lanes<T>()];
    for (int64_t r = 0; r < Lanes<T>(); ++r) {
      rows[r] = shared && r > 0 ? rows[0]
                                : ReadMask(b, lane + r, tile.first, tile.count,
                                           b.rows + r * kTileKeys);
    }
    RowsToColumns<T>(rows, tile.count, T(1), kBlock<T>, b.added + lane);
  }
}

// Doubles from and to T.
HWY_INLINE Vector<double> LoadWide(const double* from) {
  return hn::LoadU(Tag<double>(), from);
}
HWY_INLINE Vector<double> LoadWide(const float* from) {
  constexpr hn::Rebind<float, Tag<double>> d;
  return hn::PromoteTo(Tag<double>(), hn::LoadU(d, from));
}

// body(key within the tile, terms) for as many lanes as a vector of doubles
// has, from `lane` on: the table's bias and the mask, which `added` holds as it
// is.
template <typename T, typename Body>
HWY_INLINE void ForEachTerm(const Block<T>& b, const Tile& tile, int64_t lane,
                            const Body& body) {
  constexpr Tag<double> d;
  constexpr Tag<int64_t> di;
  const int64_t first = b.positions[lane];
  const auto offsets =
      hn::Sub(hn::LoadU(di, b.positions + lane), hn::Set(di, first));
  const auto each = [&](const auto& read) HWY_ATTR {
    for (int64_t j = 0; j < tile.count; ++j) {
      const int64_t key = b.problem.key_positions[tile.first + j];
      const auto bias = read(b.task.offset_bias.At(first, key));
      body(j, hn::Add(bias, LoadWide(b.added + j * kBlock<T> + lane)));
    }
  };
  if (hn::AllTrue(di, hn::Eq(offsets, hn::Iota(di, 0)))) {
    each([&](const double* at) HWY_ATTR { return hn::LoadU(d, at); });
  } else {
    each([&](const double* at)
             HWY_ATTR { return hn::GatherIndex(d, at, offsets); });
  }
}

// From a mask in `added` to it and the bias relative to the shifts.
template <typename T>
void AddTableBias(Block<T>& b, const Tile& tile) {
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<double>()) {
    const auto shifts = LoadWide(b.shifts + lane);
    ForEachTerm(b, tile, lane, [&](int64_t j, Vector<double> term) HWY_ATTR {
      StoreRounded(RelativeTo<T, double>(shifts, term),
                   b.added + j * kBlock<T> + lane);
    });
  }
}

// The same where there is no bias: numbers and shifts are exact in T.
template <typename T>
void MakeMaskRelative(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  HWY_ALIGN T shifts[kBlock<T>];
  std::copy_n(b.shifts, kBlock<T>, shifts);
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const place = b.added + j * kBlock<T> + lane;
    hn::Store(RelativeTo<T, T>(hn::Load(d, shifts + lane), hn::Load(d, place)),
              d, place);
  });
}

// Next to a huge shift, scores keep only the digits that double leaves them.
template <typename T>
void RoundLikeDouble(double value, T* score) {
  if (!std::isfinite(value)) return;
  *score = static_cast<T>(((*score * kLn2 + value) - value) * kLog2E);
}

// Any mask and any bias, one query at a time, in double.
template <typename T>
void FillByRows(Block<T>& b, const Tile& tile) {
  const AddedTerms terms(b.problem, b.task.b, b.task.h, HasGeneralBias(b));
  double values[kTileKeys];
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const T* rows[Lanes<T>()];
    for (int64_t r = 0; r < Lanes<T>(); ++r) {
      T* const row = b.rows + r * kTileKeys;
      rows[r] = row;
      if (lane + r >= b.query_count) {
        std::fill_n(row, tile.count, T(0));
        continue;
      }
      terms.Row(b.task.first_query + lane + r, tile.first, tile.count, values);
      RelativeTerms<T>(values, tile.count, b.shifts[lane + r], row);
      if (!b.coarse) continue;
      for (int64_t j = 0; j < tile.count; ++j) {
        RoundLikeDouble(values[j], &b.scores[j * kBlock<T> + lane + r]);
      }
    }
    RowsToColumns<T>(rows, tile.count, T(1), kBlock<T>, b.added + lane);
  }
}

// Whether the terms can be had by vectors of queries.
template <typename T>
bool CanFillByVectors(const Block<T>& b) {
  return !b.coarse && HoldsMask(b) &&
         (!HasGeneralBias(b) || b.task.offset_bias.values != nullptr);
}

// added: [tile.count, kBlock], relative to the shifts, in units of log2; -inf
// hides.
template <typename T>
void FillAdded(Block<T>& b, const Tile& tile) {
  if (!CanFillByVectors(b)) return FillByRows(b, tile);
  FillMask(b, tile);
  if (HasGeneralBias(b)) {
    AddTableBias(b, tile);
  } else if (AddedTerms::CanBeLarge(b.problem, /*with_bias=*/false)) {
    MakeMaskRelative(b, tile);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
