// The three inner loops of the tiled kernel, for one instruction set.
//
// Included once for each target by tiled.cc's machinery; see Highway's
// foreach_target.h.
#if defined(LOCUS_CORE_ATTENTION_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILE_INL_H_
#undef LOCUS_CORE_ATTENTION_TILE_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILE_INL_H_
#endif

#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tile.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T>
using Tag = hn::ScalableTag<T>;
template <typename T>
using Vector = hn::Vec<Tag<T>>;

// Vectors of queries in a block: as many as leave a register for each of
// 4 x kVectors sums, the queries, and one broadcast key.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int64_t kVectors = 4;
#else
inline constexpr int64_t kVectors = 3;
#endif

template <typename T>
constexpr int64_t Lanes() {
  return static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
}
template <typename T>
constexpr int64_t BlockQueries() {
  return kVectors * Lanes<T>();
}

// sums[g, lane] += sum over n of left[n, lane] * right[n, g].
// left: [count, BlockQueries]; right: [count, 4]; sums: [4, BlockQueries].
template <typename T>
HWY_INLINE void RankOneUpdates(const T* HWY_RESTRICT left,
                               const T* HWY_RESTRICT right, int64_t count,
                               T* HWY_RESTRICT sums) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  Vector<T> sum[kGroup][kVectors];
  for (int64_t g = 0; g < kGroup; ++g) {
    for (int64_t v = 0; v < kVectors; ++v) {
      sum[g][v] = hn::Load(d, sums + g * kBlock + v * Lanes<T>());
    }
  }
  for (int64_t n = 0; n < count; ++n) {
    Vector<T> x[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      x[v] = hn::Load(d, left + n * kBlock + v * Lanes<T>());
    }
    for (int64_t g = 0; g < kGroup; ++g) {
      const auto y = hn::Set(d, right[n * kGroup + g]);
      for (int64_t v = 0; v < kVectors; ++v) {
        sum[g][v] = hn::MulAdd(x[v], y, sum[g][v]);
      }
    }
  }
  for (int64_t g = 0; g < kGroup; ++g) {
    for (int64_t v = 0; v < kVectors; ++v) {
      hn::Store(sum[g][v], d, sums + g * kBlock + v * Lanes<T>());
    }
  }
}

// 2^x for x <= 0, to about one unit in the last place; 0 where the result
// would not be a normal number, -inf included. NaN stays NaN.
template <typename T>
HWY_INLINE Vector<T> Exp2(Vector<T> x) {
  constexpr Tag<T> d;
  constexpr hn::RebindToSigned<Tag<T>> di;
  constexpr bool kSingle = sizeof(T) == 4;
  constexpr int kMantissaBits = kSingle ? 23 : 52;
  constexpr int kTerms = kSingle ? 8 : 14;
  // ln(2)^n / n!: the Taylor series is enough on [-1/2, 1/2].
  constexpr double kSeries[14] = {1.0,
                                  6.9314718055994530942e-1,
                                  2.4022650695910071233e-1,
                                  5.5504108664821579953e-2,
                                  9.6181291076284771620e-3,
                                  1.3333558146428443423e-3,
                                  1.5403530393381609954e-4,
                                  1.5252733804059840280e-5,
                                  1.3215486790144309488e-6,
                                  1.0178086009239699728e-7,
                                  7.0549116208011233299e-9,
                                  4.4455382718708114976e-10,
                                  2.5678435993488205142e-11,
                                  1.3691488853904128881e-12};
  const auto vanishes = hn::Lt(x, hn::Set(d, T(kSingle ? -126 : -1022)));
  // Keeps the conversion to integers in range; NaN passes.
  const auto bounded =
      hn::IfThenElse(vanishes, hn::Set(d, T(kSingle ? -126 : -1022)), x);
  const auto whole = hn::Round(bounded);
  const auto rest = hn::Sub(bounded, whole);
  auto power = hn::Set(d, static_cast<T>(kSeries[kTerms - 1]));
  for (int n = kTerms - 2; n >= 0; --n) {
    power = hn::MulAdd(power, rest, hn::Set(d, static_cast<T>(kSeries[n])));
  }
  const auto exponent = hn::ShiftLeft<kMantissaBits>(hn::ConvertTo(di, whole));
  const auto scaled = hn::BitCast(d, hn::Add(hn::BitCast(di, power), exponent));
  // The integer made of a NaN can turn it into a number.
  return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenZeroElse(vanishes, scaled));
}

// The running softmax of a block, per query.
template <typename T>
struct RunningSoftmax {
  T* max;   // of the scores so far, in units of log2
  T* sum;   // of 2^(score - max)
  T* fade;  // what earlier sums are multiplied by after this tile
};

// Turns a tile of scores into 2^(score - max), in place, and brings max, sum
// and fade up to date. Returns whether any fade differs from 1.
// scores: [key_count, BlockQueries].
template <typename T>
HWY_INLINE bool UpdateSoftmax(T* HWY_RESTRICT scores, int64_t key_count,
                              const RunningSoftmax<T>& running) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  bool fades = false;
  for (int64_t lane = 0; lane < kBlock; lane += Lanes<T>()) {
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
                     T* HWY_RESTRICT rows) {
  constexpr Tag<T> d;
  constexpr int64_t kBlock = BlockQueries<T>();
  for (int64_t lane = 0; lane < kBlock; lane += Lanes<T>()) {
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
