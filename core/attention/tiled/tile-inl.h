// Inner loops of the tiled kernel: matrix products, online softmax, rescaling.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_TILE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_TILE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_TILE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "core/attention/tiled/tile.h"
#include "core/simd/exp2-inl.h"
#include "core/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Vectors of queries in a block. The 4 x kVectors sums, kVectors vectors of
// queries and one broadcast key element must fit into the vector registers.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kVectors = 4;
#else
inline constexpr int kVectors = 3;
#endif

// Number of queries in a full block.
template <typename T>
constexpr int64_t BlockQueries() {
  return kVectors * Lanes<T>();
}

// Calls body(std::integral_constant<int, count>()), so that the number of
// vectors is a compile-time constant in the inner loops.
template <typename Body>
HWY_INLINE void WithVectors(int64_t count, const Body& body) {
  static_assert(kVectors <= 4);
  switch (count) {
    case 1:
      return body(std::integral_constant<int, 1>());
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    default:
      return body(std::integral_constant<int, kVectors>());
  }
}

// Matrix product by rank-one updates. Computes
//   sum(g, v) = init(g, v) + sum over n of left[n, v] * right[n, g]
// and calls done(g, v, sum(g, v)), where v is one of kCount vectors of queries
// and g one of four keys or value columns.
// left: [count, BlockQueries]; right: [count, 4].
template <typename T, int kCount, typename Init, typename Done>
HWY_INLINE void RankOneUpdates(const T* HWY_RESTRICT left,
                               const T* HWY_RESTRICT right, int64_t count,
                               const Init& init, const Done& done) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  Vector<T> sum[kGroup][kCount];
  for (int g = 0; g < kGroup; ++g) {
    for (int v = 0; v < kCount; ++v) sum[g][v] = init(g, v);
  }
  // With less unrolling the loop takes up to twice as long on some processors.
#pragma GCC unroll 8
  for (int64_t n = 0; n < count; ++n) {
    Vector<T> x[kCount];
    for (int v = 0; v < kCount; ++v) {
      x[v] = hn::Load(d, left + n * kBlock + v * Lanes<T>());
    }
    for (int g = 0; g < kGroup; ++g) {
      const auto y = hn::Set(d, right[n * kGroup + g]);
      for (int v = 0; v < kCount; ++v) {
        sum[g][v] = hn::MulAdd(x[v], y, sum[g][v]);
      }
    }
  }
  // Without the pragmas compilers unroll these loops so late that the sums are
  // spilled to memory.
#pragma GCC unroll 4
  for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) done(g, v, sum[g][v]);
  }
}

// State of the online softmax of a block, one element per query. Scores are in
// units of log2.
template <typename T>
struct RunningSoftmax {
  T* max;         // m: reference of the exponents; initially -inf
  T* sum;         // l: sum of 2^(score - max)
  T* correction;  // 2^(old max - new max) of the last tile
  T* minus_max;   // -max; valid if every query has a finite maximum
};

// Maximum sum of a query's probabilities in a fused tile. Fused tiles use the
// maximum of earlier tiles, so probabilities can exceed 1. Typical data stays
// far below this limit, and sums up to it lose no precision.
inline constexpr int kMaxFusedSum = 1 << 20;

// View of terms that are added to scores: the term of key j and lane `lane` is
// first[j * stride + lane]. Empty if first is null.
template <typename T>
struct TermView {
  const T* first = nullptr;
  int64_t stride = 0;

  // The view that begins at another lane and key.
  TermView From(int64_t lane, int64_t key) const {
    if (first == nullptr) return {};
    return {first + key * stride + lane, stride};
  }
};

// Computes the probabilities 2^(score - max) of some keys without storing the
// scores: [key_count, BlockQueries], for kCount vectors of queries. key_count
// is rounded up to a multiple of 4. `terms` are added to the scores. The
// probabilities are added to `sums`, which end up above kMaxFusedSum or NaN if
// a score is far above the running maximum or NaN. apply_mask(v, j, p) returns
// p for the queries of vector v that see key j, and 0 for the others.
//
// The arguments are separate restrict-qualified parameters on purpose: bundling
// them in a struct changes the register allocation of the inner loop.
template <typename T, int kCount, typename ApplyMask>
HWY_INLINE void ComputeProbabilities(
    const T* HWY_RESTRICT queries, const T* HWY_RESTRICT keys, int64_t dim,
    int64_t key_count, const TermView<T>& terms,
    const T* HWY_RESTRICT minus_max, const ApplyMask& apply_mask,
    T* HWY_RESTRICT sums, T* HWY_RESTRICT probabilities) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  Vector<T> sum[kCount];
  for (int v = 0; v < kCount; ++v) sum[v] = hn::Load(d, sums + v * Lanes<T>());
  const auto process_group = [&](int64_t j, const auto& init) HWY_ATTR {
    T* const to = probabilities + j * kBlock;
    RankOneUpdates<T, kCount>(
        queries, keys + j * dim, dim, init,
        [&](int g, int v, Vector<T> score) HWY_ATTR {
          const auto p = apply_mask(v, j + g, Exp2OrHuge<T>(score));
          hn::Store(p, d, to + g * kBlock + v * Lanes<T>());
          sum[v] = hn::Add(sum[v], p);
        });
  };
  const auto load_minus_max = [&](int v) HWY_ATTR {
    return hn::Load(d, minus_max + v * Lanes<T>());
  };
  for (int64_t j = 0; j < key_count; j += kGroup) {
    if (terms.first == nullptr) {
      process_group(j, [&](int, int v) HWY_ATTR { return load_minus_max(v); });
    } else {
      process_group(j, [&](int g, int v) HWY_ATTR {
        const T* const row = terms.first + (j + g) * terms.stride;
        return hn::Add(hn::LoadU(d, row + v * Lanes<T>()), load_minus_max(v));
      });
    }
  }
  for (int v = 0; v < kCount; ++v) hn::Store(sum[v], d, sums + v * Lanes<T>());
}

// One step of the online softmax: replaces the scores of a tile by
// 2^(score - max) and updates max, sum and correction. Returns whether any
// correction differs from 1, so that the output must be rescaled.
// scores: [key_count, BlockQueries].
template <typename T>
HWY_INLINE bool UpdateSoftmax(T* HWY_RESTRICT scores, int64_t key_count,
                              int64_t lanes, const RunningSoftmax<T>& running) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  bool needs_rescale = false;
  for (int64_t lane = 0; lane < lanes; lane += Lanes<T>()) {
    T* const column = scores + lane;
    const auto old_max = hn::Load(d, running.max + lane);
    auto max = old_max;
    for (int64_t j = 0; j < key_count; ++j) {
      // If an operand is NaN, Max returns the second one: NaN scores are
      // ignored here.
      max = hn::Max(hn::Load(d, column + j * kBlock), max);
    }
    // The maximum of a query without visible keys so far is -inf.
    const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
    const auto correction = Exp2<T>(hn::Sub(old_max, reference));
    auto sum = hn::Zero(d);
    for (int64_t j = 0; j < key_count; ++j) {
      const auto p =
          Exp2<T>(hn::Sub(hn::Load(d, column + j * kBlock), reference));
      hn::Store(p, d, column + j * kBlock);
      sum = hn::Add(sum, p);
    }
    sum = hn::MulAdd(hn::Load(d, running.sum + lane), correction, sum);
    hn::Store(max, d, running.max + lane);
    hn::Store(sum, d, running.sum + lane);
    hn::Store(correction, d, running.correction + lane);
    needs_rescale |= !hn::AllTrue(d, hn::Eq(correction, hn::Set(d, T(1))));
  }
  return needs_rescale;
}

// Multiplies every row by the correction factors of the queries.
// rows: [row_count, BlockQueries].
template <typename T>
HWY_INLINE void Rescale(const T* HWY_RESTRICT correction, int64_t row_count,
                        int64_t lanes, T* HWY_RESTRICT rows) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  for (int64_t lane = 0; lane < lanes; lane += Lanes<T>()) {
    const auto factor = hn::Load(d, correction + lane);
    for (int64_t c = 0; c < row_count; ++c) {
      T* const place = rows + c * kBlock + lane;
      hn::Store(hn::Mul(hn::Load(d, place), factor), d, place);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
