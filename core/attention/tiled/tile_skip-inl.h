// Which tiles cannot change a digit of the result, where the bias fades with
// distance.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_TILE_SKIP_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_TILE_SKIP_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_TILE_SKIP_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_TILE_SKIP_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// What is left out is less than this, as a power of two, of what is there.
template <typename T>
constexpr double kLostBits = sizeof(T) == 4 ? 27 : 56;

template <typename T>
double MostWithoutBias(const Block<T>& b, int64_t lane, double key_norm) {
  const double most = b.norms[lane] * key_norm;
  if (b.problem.softcap == 0) return most;
  return b.problem.softcap * kLog2E * std::min(most, 1.0);
}

// Into the place of the fades: each query's largest output without its sign.
template <typename T>
void FindLargestOutputs(Block<T>& b) {
  constexpr Tag<T> d;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto largest = hn::Zero(d);
    for (int64_t c = 0; c < b.columns; ++c) {
      largest = hn::Max(hn::Abs(hn::Load(d, b.output + c * kBlock<T> + lane)),
                        largest);
    }
    hn::Store(largest, d, b.running.fade + lane);
  }
}

// Whether a key at that offset alone may matter to the first query, which is
// found out without a logarithm, and most often the case.
template <typename T>
bool OneMatters(const Block<T>& b, int64_t offset, const Reach& reach) {
  const double bias = *b.task.offset_bias.At(offset, 0) - b.bias_shift;
  const double weight = bias * kLog2E + MostWithoutBias(b, 0, reach.key_norm);
  const double present =
      double{b.running.max[0]} + std::ilogb(double{b.running.sum[0]}) + 1;
  return !(weight <= present - kLostBits<T>);
}

// A score without its bias is at most |query| |key|; the sum of what biases
// at that distance and beyond let through has a bound of its own. All in
// units of log2. Written so that a NaN is never small.
template <typename T>
bool NoneMatters(Block<T>& b, int64_t offset, int64_t key_count,
                 const Reach& reach) {
  if (OneMatters(b, offset, reach)) return false;
  const double tail =
      (b.problem.bias->LogTail(b.task.h, offset, key_count) - b.bias_shift) *
      kLog2E;
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double weight = tail + MostWithoutBias(b, lane, reach.key_norm);
    const double present =
        b.running.max[lane] + std::log2(double{b.running.sum[lane]});
    if (!(weight <= present - kLostBits<T>)) return false;
  }
  FindLargestOutputs(b);
  const double value = std::log2(reach.value);
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double weight = tail + MostWithoutBias(b, lane, reach.key_norm);
    const double present =
        b.running.max[lane] + std::log2(double{b.running.fade[lane]});
    if (!(weight + value <= present - kLostBits<T>)) return false;
  }
  return true;
}

// Whether the keys of tile n and of all before it, together, weigh too little
// to change a digit.
template <typename T>
bool NoneMattersUpTo(Block<T>& b, int64_t n) {
  if (!b.task.prune) return false;
  const int64_t last = std::min((n + 1) * kTileKeys, b.visible.last) - 1;
  const int64_t offset = b.problem.query_positions[b.task.first_query] -
                         b.problem.key_positions[last];
  return offset > 0 && NoneMatters(b, offset, last + 1 - b.visible.first,
                                   b.task.head.tiles[n].up_to_here);
}

template <typename T>
bool NoneMattersFrom(Block<T>& b, int64_t n) {
  if (!b.task.prune) return false;
  const int64_t first = n * kTileKeys;
  const int64_t offset =
      b.problem.query_positions[b.task.first_query + b.query_count - 1] -
      b.problem.key_positions[first];
  return offset < 0 && NoneMatters(b, offset, b.visible.last - first,
                                   b.task.head.tiles[n].from_here);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
