// The inner loops of the tiled kernel, for one instruction set.
//
// Included once for each target by Highway's machinery; see foreach_target.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
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

// Vectors of queries in a block: as many as leave a register for each of
// 4 x kVectors sums, the queries, and one broadcast key.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kVectors = 4;
#else
inline constexpr int kVectors = 3;
#endif

template <typename T>
constexpr int64_t BlockQueries() {
  return kVectors * Lanes<T>();
}

// Calls body with the number of vectors as a constant.
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

// done(g, v, init(g, v) + sum over n of left[n, v] * right[n, g]), where v is a
// vector of queries and g one of four keys or value columns.
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
  // Unrolled less, the loop takes up to twice as long on some processors.
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
  // Unrolled late, as compilers do on their own, sums go through memory.
#pragma GCC unroll 4
  for (int g = 0; g < kGroup; ++g) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) done(g, v, sum[g][v]);
  }
}

// The running softmax of a block, per query.
template <typename T>
struct RunningSoftmax {
  T* max;        // what scores are relative to, in units of log2; -inf at first
  T* sum;        // of 2^(score - max)
  T* fade;       // what earlier sums are multiplied by after this tile
  T* minus_max;  // -max once every query has a finite one
};

// What a query's probabilities of one tile may sum to, if they are relative to
// the maximum so far. Ordinary data never gets there, and such sums lose no
// digit.
inline constexpr int kMostInPassing = 1 << 20;

// What is added to scores: that of lane and key j at j * stride + lane, if
// there is anything.
template <typename T>
struct Terms {
  const T* first = nullptr;
  int64_t stride = 0;

  // From another lane and key on.
  Terms From(int64_t lane, int64_t key) const {
    if (first == nullptr) return {};
    return {first + key * stride + lane, stride};
  }
};

// Scores of some keys turned into 2^(score - max) in passing: [key_count,
// BlockQueries] for kCount vectors of queries; key_count is a multiple of 4.
// Adds them up in `sums`, which exceed kMostInPassing, or are NaN, if a score
// is far above the maximum so far, or NaN. `terms` are added to the scores.
// shows(v, j, p) is what a query of vector v sees of key j: p or 0.
template <typename T, int kCount, typename Shows>
HWY_INLINE void TakeProbabilities(const T* HWY_RESTRICT queries,
                                  const T* HWY_RESTRICT keys, int64_t dim,
                                  int64_t key_count, const Terms<T>& terms,
                                  const T* HWY_RESTRICT minus_max,
                                  const Shows& shows, T* HWY_RESTRICT sums,
                                  T* HWY_RESTRICT probabilities) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  Vector<T> sum[kCount];
  for (int v = 0; v < kCount; ++v) sum[v] = hn::Load(d, sums + v * Lanes<T>());
  const auto take = [&](int64_t j, const auto& init) HWY_ATTR {
    T* const to = probabilities + j * kBlock;
    RankOneUpdates<T, kCount>(
        queries, keys + j * dim, dim, init,
        [&](int g, int v, Vector<T> score) HWY_ATTR {
          const auto p = shows(v, j + g, Exp2OrHuge<T>(score));
          hn::Store(p, d, to + g * kBlock + v * Lanes<T>());
          sum[v] = hn::Add(sum[v], p);
        });
  };
  const auto minus = [&](int v) HWY_ATTR {
    return hn::Load(d, minus_max + v * Lanes<T>());
  };
  for (int64_t j = 0; j < key_count; j += kGroup) {
    if (terms.first == nullptr) {
      take(j, [&](int, int v) HWY_ATTR { return minus(v); });
    } else {
      take(j, [&](int g, int v) HWY_ATTR {
        const T* const row = terms.first + (j + g) * terms.stride;
        return hn::Add(hn::LoadU(d, row + v * Lanes<T>()), minus(v));
      });
    }
  }
  for (int v = 0; v < kCount; ++v) hn::Store(sum[v], d, sums + v * Lanes<T>());
}

// Turns a tile of scores into 2^(score - max), in place, and brings max, sum
// and fade up to date. Returns whether any fade differs from 1.
// scores: [key_count, BlockQueries].
template <typename T>
HWY_INLINE bool UpdateSoftmax(T* HWY_RESTRICT scores, int64_t key_count,
                              int64_t lanes, const RunningSoftmax<T>& running) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  bool fades = false;
  for (int64_t lane = 0; lane < lanes; lane += Lanes<T>()) {
    T* const column = scores + lane;
    const auto old_max = hn::Load(d, running.max + lane);
    auto max = old_max;
    for (int64_t j = 0; j < key_count; ++j) {
      // The operand that is returned for NaN is the second one.
      max = hn::Max(hn::Load(d, column + j * kBlock), max);
    }
    // A query that has seen nothing yet has no reference but 0.
    const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
    const auto fade = Exp2<T>(hn::Sub(old_max, reference));
    auto sum = hn::Zero(d);
    for (int64_t j = 0; j < key_count; ++j) {
      const auto p =
          Exp2<T>(hn::Sub(hn::Load(d, column + j * kBlock), reference));
      hn::Store(p, d, column + j * kBlock);
      sum = hn::Add(sum, p);
    }
    sum = hn::MulAdd(hn::Load(d, running.sum + lane), fade, sum);
    hn::Store(max, d, running.max + lane);
    hn::Store(sum, d, running.sum + lane);
    hn::Store(fade, d, running.fade + lane);
    fades |= !hn::AllTrue(d, hn::Eq(fade, hn::Set(d, T(1))));
  }
  return fades;
}

// rows: [row_count, BlockQueries], each times fade.
template <typename T>
HWY_INLINE void Fade(const T* HWY_RESTRICT fade, int64_t row_count,
                     int64_t lanes, T* HWY_RESTRICT rows) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  for (int64_t lane = 0; lane < lanes; lane += Lanes<T>()) {
    const auto factor = hn::Load(d, fade + lane);
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
