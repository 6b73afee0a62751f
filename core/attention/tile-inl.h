// The inner loops of the tiled kernel, for one instruction set.
//
// Included once for each target by Highway's machinery; see foreach_target.h.
#if defined(LOCUS_CORE_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include "core/attention/tile.h"
#include "core/base/exp2-inl.h"
#include "core/base/simd-inl.h"

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
  for (int g = 0; g < kGroup; ++g) {
    for (int v = 0; v < kCount; ++v) done(g, v, sum[g][v]);
  }
}

// 2^x for x <= 0; 0 where the result would not be a normal number, -inf
// included. NaN stays NaN.
template <typename T>
HWY_INLINE Vector<T> Exp2(Vector<T> x) {
  constexpr Tag<T> d;
  const auto vanishes = hn::Lt(x, hn::Set(d, T(sizeof(T) == 4 ? -125 : -1021)));
  return hn::IfThenElse(hn::IsNaN(x), x,
                        hn::IfThenZeroElse(vanishes, Exp2Bounded<T>(x)));
}

// The running softmax of a block, per query.
template <typename T>
struct RunningSoftmax {
  T* max;   // what scores are relative to, in units of log2; -inf at first
  T* sum;   // of 2^(score - max)
  T* fade;  // what earlier sums are multiplied by after this tile
};

// By how much, in units of log2, scores may exceed what they are relative to.
// Sums of 2^20 lose no digit, and ordinary data never gets there.
inline constexpr int kHeadroom = 20;

// The scores of a tile that every query sees, turned into 2^(score - max) in
// passing: [key_count, BlockQueries]; key_count is a multiple of 4. `diagonal`,
// if there is one, has the bias of lane and key j at lane - j.
// Adds to the sums and returns true; or returns false and leaves them if a
// score is more than kHeadroom above the maximum so far, or NaN.
template <typename T, int kCount>
HWY_INLINE bool TakeProbabilities(const T* HWY_RESTRICT queries,
                                  const T* HWY_RESTRICT keys, int64_t dim,
                                  int64_t key_count, const T* diagonal,
                                  const RunningSoftmax<T>& running,
                                  T* HWY_RESTRICT probabilities) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  const auto limit = hn::Set(d, T(kHeadroom));
  auto fits = hn::Eq(limit, limit);
  Vector<T> sum[kCount];
  for (int v = 0; v < kCount; ++v) sum[v] = hn::Zero(d);
  const auto take = [&](int64_t j, const auto& init) HWY_ATTR {
    RankOneUpdates<T, kCount>(
        queries, keys + j * dim, dim, init,
        [&](int g, int v, Vector<T> score) HWY_ATTR {
          fits = hn::And(fits, hn::Le(score, limit));
          const auto p = Exp2Bounded<T>(score);
          hn::Store(p, d, probabilities + (j + g) * kBlock + v * Lanes<T>());
          sum[v] = hn::Add(sum[v], p);
        });
  };
  const auto reference = [&](int v) HWY_ATTR {
    return hn::Load(d, running.max + v * Lanes<T>());
  };
  for (int64_t j = 0; j < key_count; j += kGroup) {
    if (diagonal == nullptr) {
      take(j, [&](int g, int v) HWY_ATTR { return hn::Neg(reference(v)); });
    } else {
      take(j, [&](int g, int v) HWY_ATTR {
        const auto bias = hn::LoadU(d, diagonal + v * Lanes<T>() - (j + g));
        return hn::Sub(bias, reference(v));
      });
    }
  }
  if (!hn::AllTrue(d, fits)) return false;
  for (int v = 0; v < kCount; ++v) {
    T* const place = running.sum + v * Lanes<T>();
    hn::Store(hn::Add(sum[v], hn::Load(d, place)), d, place);
  }
  return true;
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

// columns[c, 0 .. 3] = rows[0 .. 3][c] * factor; columns: [count, 4], with room
// for a vector of each row past the end, as have the rows.
template <typename T>
HWY_INLINE void Interleave(const T* const (&rows)[kGroup], int64_t count,
                           T factor, T* HWY_RESTRICT columns) {
  constexpr Tag<T> d;
  const auto f = hn::Set(d, factor);
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    hn::StoreInterleaved4(hn::Mul(hn::LoadU(d, rows[0] + c), f),
                          hn::Mul(hn::LoadU(d, rows[1] + c), f),
                          hn::Mul(hn::LoadU(d, rows[2] + c), f),
                          hn::Mul(hn::LoadU(d, rows[3] + c), f), d,
                          columns + c * kGroup);
  }
  for (; c < count; ++c) {
    for (int r = 0; r < kGroup; ++r)
      columns[c * kGroup + r] = rows[r][c] * factor;
  }
}

// rows[r, c] = columns[c, r] * factors[r]; columns: [count, 4].
template <typename T>
HWY_INLINE void Deinterleave(const T* HWY_RESTRICT columns, int64_t count,
                             const T* factors, T* const (&rows)[kGroup]) {
  constexpr Tag<T> d;
  int64_t c = 0;
  for (; c + Lanes<T>() <= count; c += Lanes<T>()) {
    Vector<T> x[kGroup];
    hn::LoadInterleaved4(d, columns + c * kGroup, x[0], x[1], x[2], x[3]);
    for (int r = 0; r < kGroup; ++r) {
      hn::StoreU(hn::Mul(x[r], hn::Set(d, factors[r])), d, rows[r] + c);
    }
  }
  for (; c < count; ++c) {
    for (int r = 0; r < kGroup; ++r) {
      rows[r][c] = columns[c * kGroup + r] * factors[r];
    }
  }
}

// Copies `width` numbers, four at most, of each of `count` rows.
template <typename T>
HWY_INLINE void CopyFours(const T* HWY_RESTRICT from, int64_t from_stride,
                          int64_t count, T* HWY_RESTRICT to, int64_t to_stride,
                          int64_t width = kGroup) {
  for (int64_t n = 0; n < count; ++n) {
    if (width == kGroup) {
      std::memcpy(to + n * to_stride, from + n * from_stride,
                  kGroup * sizeof(T));
    } else {
      std::copy_n(from + n * from_stride, width, to + n * to_stride);
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
