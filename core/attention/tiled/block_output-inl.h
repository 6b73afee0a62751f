// Output of a block: accumulates probabilities times values, and writes output,
// log-sum-exp and weights.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BLOCK_OUTPUT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_BLOCK_OUTPUT_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_BLOCK_OUTPUT_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_BLOCK_OUTPUT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// AccumulateValues() for kCount vectors of queries.
template <int kCount, typename T>
void MultiplyValues(Block<T>& b, const Tile& tile, int64_t lane) {
  constexpr Tag<T> d;
  const int64_t start = tile.index * kTileKeys;
  const int64_t stride =
      std::min(kTileKeys, b.problem.key_count - start) * kGroup;
  const T* values =
      b.task.head.values + start * b.columns + (tile.first - start) * kGroup;
  const T* const weights = b.scores + tile.row * kBlock<T> + lane;
  // Local copies: the compiler must assume that stores change members of b.
  const int64_t count = tile.count;
  T* output = b.output + lane;
  T* const end = output + b.columns * kBlock<T>;
  for (; output < end; output += kGroup * kBlock<T>, values += stride) {
    RankOneUpdates<T, kCount>(
        weights, values, count,
        [&, output](int g, int v) HWY_ATTR {
          return hn::Load(d, output + g * kBlock<T> + v * Lanes<T>());
        },
        [&, output](int g, int v, Vector<T> sum) HWY_ATTR {
          hn::Store(sum, d, output + g * kBlock<T> + v * Lanes<T>());
        });
  }
}

// Adds probabilities times values of a tile to the output of the lanes
// [lane, end_lane), which are whole vectors.
template <typename T>
void AccumulateValues(Block<T>& b, const Tile& tile, int64_t lane,
                      int64_t end_lane) {
  WithVectors((end_lane - lane) / Lanes<T>(), [&](auto vectors) HWY_ATTR {
    MultiplyValues<decltype(vectors)::value>(b, tile, lane);
  });
}

// Adds NaN and infinite values, which are packed as zero, to the output of the
// queries that see their key.
template <typename T>
void AddNonFiniteValues(Block<T>& b, const Tile& tile) {
  T* const row = b.row_buffer;
  for (int64_t j = 0; j < tile.count; ++j) {
    const TensorView& v = b.problem.inputs.v;
    const int64_t element = b.problem.ValueRow(
        b.task.b, b.problem.KeyHead(b.task.h), tile.first + j);
    ReadRow(v.dtype, v.at(element), b.problem.value_dim, row);
    for (int64_t c = 0; c < b.problem.value_dim; ++c) {
      if (std::isfinite(row[c])) continue;
      for (int64_t lane = 0; lane < b.lanes; ++lane) {
        const int64_t n = j * kBlock<T> + lane;
        if (b.masked_scores[n] == -std::numeric_limits<T>::infinity()) continue;
        b.output[c * kBlock<T> + lane] += b.scores[n] * row[c];
      }
    }
  }
}

// Stores 1 / sum of each query in running.correction, or 0 for a query without
// visible keys.
template <typename T>
void ComputeNormalizers(Block<T>& b) {
  constexpr Tag<T> d;
  const auto one = hn::Set(d, T(1));
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.running.sum + lane);
    const auto is_empty = hn::Eq(sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(is_empty, hn::Div(one, sum)), d,
              b.running.correction + lane);
  }
}

// Divides the output by the sums, transposes it and writes it.
template <typename T>
void WriteOutput(Block<T>& b) {
  const int64_t dim = b.problem.value_dim;
  ComputeNormalizers(b);
  for (int64_t lane = 0; lane < b.query_count; lane += Lanes<T>()) {
    const int64_t count = std::min(Lanes<T>(), b.query_count - lane);
    const auto destination = [&](int64_t r) {
      return b.task.out->output.at(b.problem.OutputRow(
          b.task.b, b.task.h, b.task.first_query + lane + r));
    };
    const bool is_direct = IsArrayOf<T>(b.problem.dtype, destination(0));
    T* rows[Lanes<T>()];
    for (int64_t r = 0; r < count; ++r) {
      rows[r] = is_direct ? reinterpret_cast<T*>(destination(r))
                          : b.row_buffer + r * dim;
    }
    ColumnsToRows<T>({b.output + lane, kBlock<T>, dim},
                     b.running.correction + lane, rows, count);
    if (!is_direct) {
      WriteRow(b.problem.dtype, b.row_buffer, count * dim, destination(0));
    }
  }
}

// Writes ln of the sum of e^score of each query; -inf without visible keys.
template <typename T>
void WriteLogSumExp(Block<T>& b) {
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double sum = b.running.sum[lane];
    const double value = sum == 0 ? -std::numeric_limits<double>::infinity()
                                  : b.running.max[lane] * kLn2 + std::log(sum) +
                                        b.references[lane] + b.bias_reference;
    WriteRow(b.problem.wide_dtype, &value, 1,
             b.task.out->log_sum_exp->at(b.problem.QueryIndex(
                 b.task.b, b.task.h, b.task.first_query + lane)));
  }
}

// Writes the weights of a tile. Requires that all tiles have been processed and
// that b.scores holds the scores of this tile again.
template <typename T>
void WriteWeights(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T* element, int64_t, int64_t lane) HWY_ATTR {
    const auto max = hn::Load(d, b.running.max + lane);
    const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
    const auto score = hn::Load(d, element);
    const auto weight = hn::Div(Exp2<T>(hn::Sub(score, reference)),
                                hn::Load(d, b.running.sum + lane));
    // The weight of a hidden key is 0 even if the sum is 0 or NaN.
    hn::Store(hn::IfThenZeroElse(hn::Eq(score, hidden), weight), d, element);
  });
  T* const row = b.row_buffer;
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    for (int64_t j = 0; j < tile.count; ++j) {
      row[j] = b.scores[j * kBlock<T> + lane];
    }
    const int64_t query =
        b.problem.QueryIndex(b.task.b, b.task.h, b.task.first_query + lane);
    WriteRow(b.problem.wide_dtype, row, tile.count,
             b.task.out->weights->at(query * b.problem.key_count + tile.first));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
