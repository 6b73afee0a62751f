// Score terms of a tile: the mask, and the bias in BiasMode::kGeneral, where
// positions are not consecutive or the bias is too large for the queries of a
// block to share one reference.
//
// Terms are computed relative to a reference of their query (see
// bias_reference-inl.h) and in units of log2; -inf hides a key.
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

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/relative_terms-inl.h"
#include "core/attention/tiled/score_terms.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <typename T>
bool HasGeneralBias(const Block<T>& b) {
  return b.task.bias_mode == BiasMode::kGeneral;
}

// Address of the mask element of a lane and a key. Lanes without a query use
// the row of the last query.
template <typename T>
const char* MaskRow(const Block<T>& b, int64_t lane, int64_t key) {
  const Mask& mask = *b.problem.mask;
  const int64_t i = b.task.first_query + std::min(lane, b.query_count - 1);
  return mask.tensor.at(mask.Element(b.task.b, b.task.h, i, key));
}

// Which keys of a tile a mask leaves visible to the queries of a block.
enum class MaskCoverage { kNone, kPartial, kAll };

// Scans the mask of a tile, so that fully hidden tiles can be skipped and fully
// visible ones need no mask. Only scans bool masks with one element per key;
// the coverage of other masks is kPartial.
template <typename T>
MaskCoverage ClassifyMask(const Block<T>& b, const Tile& tile) {
  if (!b.problem.mask) return MaskCoverage::kAll;
  const Mask& mask = *b.problem.mask;
  if (mask.tensor.dtype != DType::kBool || mask.key_stride != 1) {
    return MaskCoverage::kPartial;
  }
  const auto size = static_cast<size_t>(tile.count);
  const int64_t rows = mask.query_stride == 0 ? 1 : b.query_count;
  bool all_visible = true;
  bool all_hidden = true;
  for (int64_t lane = 0; lane < rows; ++lane) {
    const char* const row = MaskRow(b, lane, tile.first);
    all_visible = all_visible && std::memchr(row, 0, size) == nullptr;
    all_hidden =
        all_hidden && *row == 0 && std::memcmp(row, row + 1, size - 1) == 0;
    if (!all_visible && !all_hidden) return MaskCoverage::kPartial;
  }
  return all_visible ? MaskCoverage::kAll : MaskCoverage::kNone;
}

// Whether T represents every element of the mask exactly.
template <typename T>
bool CanRepresentMask(const Block<T>& b) {
  return sizeof(T) == sizeof(double) || !b.problem.mask ||
         b.problem.mask->tensor.dtype != DType::kFloat64;
}

// Returns the mask of one lane and `count` keys as T, with bools as 0 and -inf.
// Elements that need no conversion are returned in place, others are stored in
// `buffer`.
template <typename T>
const T* ReadMask(const Block<T>& b, int64_t lane, int64_t key, int64_t count,
                  T* buffer) {
  const Mask& mask = *b.problem.mask;
  const char* const row = MaskRow(b, lane, key);
  const int64_t stored =
      mask.key_stride == 0 ? std::min<int64_t>(count, 1) : count;
  if (mask.tensor.dtype == DType::kBool) {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    for (int64_t j = 0; j < stored; ++j) {
      buffer[j] = row[j] != 0 ? T(0) : kHidden;
    }
  } else if (stored == count && IsArrayOf<T>(mask.tensor.dtype, row)) {
    return reinterpret_cast<const T*>(row);
  } else {
    ReadRow(mask.tensor.dtype, row, stored, buffer);
  }
  if (stored < count) std::fill_n(buffer + stored, count - stored, buffer[0]);
  return buffer;
}

// Sets b.terms, [tile.count, kBlock], to the mask, or to zeros without a mask.
template <typename T>
void FillMask(Block<T>& b, const Tile& tile) {
  if (!b.problem.mask) {
    std::fill_n(b.terms, tile.count * kBlock<T>, T(0));
    return;
  }
  const bool shared = b.problem.mask->query_stride == 0;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const T* rows[Lanes<T>()];
    for (int64_t r = 0; r < Lanes<T>(); ++r) {
      rows[r] = shared && r > 0 ? rows[0]
                                : ReadMask(b, lane + r, tile.first, tile.count,
                                           b.row_buffer + r * kTileKeys);
    }
    RowsToColumns<T>(rows, tile.count, T(1), kBlock<T>, b.terms + lane);
  }
}

// Loads a vector of doubles from doubles or floats.
HWY_INLINE Vector<double> LoadWide(const double* from) {
  return hn::LoadU(Tag<double>(), from);
}
HWY_INLINE Vector<double> LoadWide(const float* from) {
  constexpr hn::Rebind<float, Tag<double>> d;
  return hn::PromoteTo(Tag<double>(), hn::LoadU(d, from));
}

// Calls body(key relative to the tile, terms) for each key of a tile, where
// `terms` is the sum of mask and bias for one vector of doubles, beginning with
// `lane`. The mask is read from b.terms, the bias from the table of offsets.
template <typename T, typename Body>
HWY_INLINE void ForEachTerm(const Block<T>& b, const Tile& tile, int64_t lane,
                            const Body& body) {
  constexpr Tag<double> d;
  constexpr Tag<int64_t> di;
  const int64_t first = b.positions[lane];
  const auto offsets =
      hn::Sub(hn::LoadU(di, b.positions + lane), hn::Set(di, first));
  const auto for_each_key = [&](const auto& read) HWY_ATTR {
    for (int64_t j = 0; j < tile.count; ++j) {
      const int64_t key = b.problem.key_positions[tile.first + j];
      const auto bias = read(b.task.offset_bias.At(first, key));
      body(j, hn::Add(bias, LoadWide(b.terms + j * kBlock<T> + lane)));
    }
  };
  if (hn::AllTrue(di, hn::Eq(offsets, hn::Iota(di, 0)))) {
    for_each_key([&](const double* at) HWY_ATTR { return hn::LoadU(d, at); });
  } else {
    for_each_key([&](const double* at)
                     HWY_ATTR { return hn::GatherIndex(d, at, offsets); });
  }
}

// Adds the bias of the table to the mask in b.terms and makes the sum relative
// to the references.
template <typename T>
void AddTableBias(Block<T>& b, const Tile& tile) {
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<double>()) {
    const auto references = LoadWide(b.references + lane);
    ForEachTerm(b, tile, lane, [&](int64_t j, Vector<double> term) HWY_ATTR {
      StoreRounded(RelativeTo<T, double>(references, term),
                   b.terms + j * kBlock<T> + lane);
    });
  }
}

// Makes the mask in b.terms relative to the references. Requires that there is
// no bias: mask and references are then exact in T.
template <typename T>
void MakeMaskRelative(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  HWY_ALIGN T references[kBlock<T>];
  std::copy_n(b.references, kBlock<T>, references);
  ForEachScore(b, tile, [&](T*, int64_t j, int64_t lane) HWY_ATTR {
    T* const term = b.terms + j * kBlock<T> + lane;
    hn::Store(
        RelativeTo<T, T>(hn::Load(d, references + lane), hn::Load(d, term)), d,
        term);
  });
}

// Rounds a score as the sum of score and term is rounded in double, which drops
// digits of the score if the term is huge.
template <typename T>
void RoundLikeDouble(double term, T* score) {
  if (!std::isfinite(term)) return;
  *score = static_cast<T>(((*score * kLn2 + term) - term) * kLog2E);
}

// FillScoreTerms() for any mask and any bias: one query at a time, in double.
template <typename T>
void FillByRows(Block<T>& b, const Tile& tile) {
  const ScoreTerms terms(b.problem, b.task.b, b.task.h, HasGeneralBias(b));
  double values[kTileKeys];
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const T* rows[Lanes<T>()];
    for (int64_t r = 0; r < Lanes<T>(); ++r) {
      T* const row = b.row_buffer + r * kTileKeys;
      rows[r] = row;
      if (lane + r >= b.query_count) {
        std::fill_n(row, tile.count, T(0));
        continue;
      }
      terms.Row(b.task.first_query + lane + r, tile.first, tile.count, values);
      RelativeTerms<T>(values, tile.count, b.references[lane + r], row);
      if (!b.needs_double_rounding) continue;
      for (int64_t j = 0; j < tile.count; ++j) {
        RoundLikeDouble(values[j], &b.scores[j * kBlock<T> + lane + r]);
      }
    }
    RowsToColumns<T>(rows, tile.count, T(1), kBlock<T>, b.terms + lane);
  }
}

// Whether the terms of a vector of queries can be computed together.
template <typename T>
bool CanFillByVectors(const Block<T>& b) {
  return !b.needs_double_rounding && CanRepresentMask(b) &&
         (!HasGeneralBias(b) || b.task.offset_bias.values != nullptr);
}

// Sets b.terms, [tile.count, kBlock], to the score terms of a tile, relative to
// the references and in units of log2.
template <typename T>
void FillScoreTerms(Block<T>& b, const Tile& tile) {
  if (!CanFillByVectors(b)) return FillByRows(b, tile);
  FillMask(b, tile);
  if (HasGeneralBias(b)) {
    AddTableBias(b, tile);
  } else if (ScoreTerms::CanBeLarge(b.problem, /*with_bias=*/false)) {
    MakeMaskRelative(b, tile);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
