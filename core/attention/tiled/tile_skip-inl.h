// Tile skipping for biases that decay with distance.
//
// By the Cauchy-Schwarz inequality, the score of a key without its bias is at
// most |q| max |k|. ScoreBias::LogTail() bounds the sum of e^bias over all keys
// at a distance or beyond. Together they bound the weight of all remaining
// tiles. If that bound is below the precision of the sum and of the output
// accumulated so far, the tiles cannot change the result and are skipped.
//
// Bounds are in units of log2.
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

// Keys are skipped if their weight is less than 2^-kPrecisionBits of the weight
// accumulated so far.
template <typename T>
constexpr double kPrecisionBits = sizeof(T) == 4 ? 27 : 56;

// Upper bound of the scores of a query without bias.
template <typename T>
double MaxUnbiasedScore(const Block<T>& b, int64_t lane, double max_key_norm) {
  const double max_product = b.query_norms[lane] * max_key_norm;
  if (b.problem.softcap == 0) return max_product;
  return b.problem.softcap * kLog2E * std::min(max_product, 1.0);
}

// Stores the largest absolute output of each query in running.correction.
template <typename T>
void ComputeMaxAbsOutputs(Block<T>& b) {
  constexpr Tag<T> d;
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    auto max = hn::Zero(d);
    for (int64_t c = 0; c < b.columns; ++c) {
      max = hn::Max(hn::Abs(hn::Load(d, b.output + c * kBlock<T> + lane)), max);
    }
    hn::Store(max, d, b.running.correction + lane);
  }
}

// Whether a single key at `offset` may matter to the first query. This cheap
// test needs no logarithm and usually decides that a tile must not be skipped.
template <typename T>
bool KeyMatters(const Block<T>& b, int64_t offset, const NormBound& bound) {
  const double bias = *b.task.offset_bias.At(offset, 0) - b.bias_reference;
  const double weight =
      bias * kLog2E + MaxUnbiasedScore(b, 0, bound.max_key_norm);
  const double log_sum =
      double{b.running.max[0]} + std::ilogb(double{b.running.sum[0]}) + 1;
  return !(weight <= log_sum - kPrecisionBits<T>);
}

// Whether `key_count` keys at `offset` from the queries or beyond can be
// skipped. Comparisons are written so that NaN never allows skipping.
template <typename T>
bool CanSkip(Block<T>& b, int64_t offset, int64_t key_count,
             const NormBound& bound) {
  if (KeyMatters(b, offset, bound)) return false;
  const double tail = (b.problem.bias->LogTail(b.task.h, offset, key_count) -
                       b.bias_reference) *
                      kLog2E;
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double weight = tail + MaxUnbiasedScore(b, lane, bound.max_key_norm);
    const double log_sum =
        b.running.max[lane] + std::log2(double{b.running.sum[lane]});
    if (!(weight <= log_sum - kPrecisionBits<T>)) return false;
  }
  ComputeMaxAbsOutputs(b);
  const double log_value = std::log2(bound.max_abs_value);
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double weight = tail + MaxUnbiasedScore(b, lane, bound.max_key_norm);
    const double log_output =
        b.running.max[lane] + std::log2(double{b.running.correction[lane]});
    if (!(weight + log_value <= log_output - kPrecisionBits<T>)) return false;
  }
  return true;
}

// Whether tile n and all tiles before it can be skipped.
template <typename T>
bool CanSkipUpTo(Block<T>& b, int64_t n) {
  if (!b.task.prune) return false;
  const int64_t last = std::min((n + 1) * kTileKeys, b.visible_to_any.end) - 1;
  const int64_t offset = b.problem.query_positions[b.task.first_query] -
                         b.problem.key_positions[last];
  return offset > 0 && CanSkip(b, offset, last + 1 - b.visible_to_any.begin,
                               b.task.head.tiles[n].prefix_bound);
}

// Whether tile n and all tiles after it can be skipped.
template <typename T>
bool CanSkipFrom(Block<T>& b, int64_t n) {
  if (!b.task.prune) return false;
  const int64_t first = n * kTileKeys;
  const int64_t offset =
      b.problem.query_positions[b.task.first_query + b.query_count - 1] -
      b.problem.key_positions[first];
  return offset < 0 && CanSkip(b, offset, b.visible_to_any.end - first,
                               b.task.head.tiles[n].suffix_bound);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
