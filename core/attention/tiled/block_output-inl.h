// What a block adds up and writes: values times probabilities, sums, weights.
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

template <int kCount, typename T>
void MultiplyValues(Block<T>& b, const Tile& tile, int64_t lane) {
  constexpr Tag<T> d;
  const int64_t start = tile.index * kTileKeys;
  const int64_t stride =
      std::min(kTileKeys, b.problem.key_count - start) * kGroup;
  const T* values =
      b.task.head.values + start * b.columns + (tile.first - start) * kGroup;
  const T* const weights = b.scores + tile.row * kBlock<T> + lane;
  // In variables of their own: a store might change what b points to.
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

// output: [Dv, kBlock] += probabilities times values, for the lanes from
// `lane` to `last_lane`, whole vectors.
template <typename T>
void AccumulateValues(Block<T>& b, const Tile& tile, int64_t lane,
                      int64_t last_lane) {
  WithVectors((last_lane - lane) / Lanes<T>(), [&](auto vectors) HWY_ATTR {
    MultiplyValues<decltype(vectors)::value>(b, tile, lane);
  });
}

// NaN and infinite values, which the packed ones leave out, reach exactly
// the queries that see their key.
template <typename T>
void AddIrregularValues(Block<T>& b, const Tile& tile) {
  T* const row = b.rows;
  for (int64_t j = 0; j < tile.count; ++j) {
    const TensorView& v = b.problem.inputs.v;
    const int64_t element = b.problem.ValueRow(
        b.task.b, b.problem.KeyHead(b.task.h), tile.first + j);
    ReadRow(v.dtype, v.at(element), b.problem.value_dim, row);
    for (int64_t c = 0; c < b.problem.value_dim; ++c) {
      if (std::isfinite(row[c])) continue;
      for (int64_t lane = 0; lane < b.lanes; ++lane) {
        const int64_t n = j * kBlock<T> + lane;
        if (b.seen[n] == -std::numeric_limits<T>::infinity()) continue;
        b.output[c * kBlock<T> + lane] += b.scores[n] * row[c];
      }
    }
  }
}

// Into the place of the fades: 1 / sum, or 0 for a query that saw nothing.
template <typename T>
void FindNormalizers(Block<T>& b) {
  constexpr Tag<T> d;
  const auto one = hn::Set(d, T(1));
  for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
    const auto sum = hn::Load(d, b.running.sum + lane);
    const auto saw_nothing = hn::Eq(sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(saw_nothing, hn::Div(one, sum)), d,
              b.running.fade + lane);
  }
}

template <typename T>
void WriteOutput(Block<T>& b) {
  const int64_t dim = b.problem.value_dim;
  FindNormalizers(b);
  for (int64_t lane = 0; lane < b.query_count; lane += Lanes<T>()) {
    const int64_t count = std::min(Lanes<T>(), b.query_count - lane);
    const auto place = [&](int64_t r) {
      return b.task.out->output.at(b.problem.OutputRow(
          b.task.b, b.task.h, b.task.first_query + lane + r));
    };
    const bool as_it_is = IsArrayOf<T>(b.problem.dtype, place(0));
    T* rows[Lanes<T>()];
    for (int64_t r = 0; r < count; ++r) {
      rows[r] = as_it_is ? reinterpret_cast<T*>(place(r)) : b.rows + r * dim;
    }
    ColumnsToRows<T>(b.output + lane, kBlock<T>, dim, b.running.fade + lane,
                     rows, count);
    if (!as_it_is) {
      WriteRow(b.problem.dtype, b.rows, count * dim, place(0));
    }
  }
}

template <typename T>
void WriteLogSumExp(Block<T>& b) {
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double sum = b.running.sum[lane];
    const double value = sum == 0 ? -std::numeric_limits<double>::infinity()
                                  : b.running.max[lane] * kLn2 + std::log(sum) +
                                        b.shifts[lane] + b.bias_shift;
    WriteRow(b.problem.wide_dtype, &value, 1,
             b.task.out->log_sum_exp->at(b.problem.QueryIndex(
                 b.task.b, b.task.h, b.task.first_query + lane)));
  }
}

// scores_ hold the tile's scores again; the softmax is complete by now.
template <typename T>
void WriteWeights(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  ForEachScore(b, tile, [&](T* place, int64_t, int64_t lane) HWY_ATTR {
    const auto max = hn::Load(d, b.running.max + lane);
    const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
    const auto score = hn::Load(d, place);
    const auto weight = hn::Div(Exp2<T>(hn::Sub(score, reference)),
                                hn::Load(d, b.running.sum + lane));
    // Not seen is 0, even of a query that has seen nothing, or a NaN.
    hn::Store(hn::IfThenZeroElse(hn::Eq(score, hidden), weight), d, place);
  });
  T* const row = b.rows;
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
