// What a block adds up and writes: values times probabilities, sums, weights.
//
// Included once for each target; see core/base/simd.h.
#if defined(LOCUS_CORE_ATTENTION_BLOCK_OUTPUT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_BLOCK_OUTPUT_INL_H_
#undef LOCUS_CORE_ATTENTION_BLOCK_OUTPUT_INL_H_
#else
#define LOCUS_CORE_ATTENTION_BLOCK_OUTPUT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/block-inl.h"
#include "core/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <int kCount, typename T>
void MultiplyValues(Block<T>& b, const Tile& tile) {
  constexpr Tag<T> d;
  const int64_t start = tile.index * kTileKeys;
  const int64_t stride =
      std::min(kTileKeys, b.problem.key_count - start) * kGroup;
  const T* values =
      b.task.head.values + start * b.columns + (tile.first - start) * kGroup;
  for (int64_t c = 0; c < b.columns; c += kGroup, values += stride) {
    const auto place = [&](int g, int v) HWY_ATTR {
      return b.output + (c + g) * kBlock<T> + v * Lanes<T>();
    };
    RankOneUpdates<T, kCount>(
        b.scores, values, tile.count,
        [&](int g, int v) HWY_ATTR { return hn::Load(d, place(g, v)); },
        [&](int g, int v, Vector<T> sum)
            HWY_ATTR { hn::Store(sum, d, place(g, v)); });
  }
}

// output_: [Dv, kBlock] += probabilities times values.
template <typename T>
void AccumulateValues(Block<T>& b, const Tile& tile) {
  WithVectors(b.lanes / Lanes<T>(), [&](auto vectors) HWY_ATTR {
    MultiplyValues<decltype(vectors)::value>(b, tile);
  });
}

// NaN and infinite values, which the packed ones leave out, reach exactly
// the queries that see their key.
template <typename T>
void AddIrregularValues(Block<T>& b, const Tile& tile) {
  T* const row = b.rows[0];
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

// 1 / sum, or 0 for a query that saw nothing.
template <typename T>
T Normalizer(const Block<T>& b, int64_t lane) {
  return b.running.sum[lane] == 0 ? T(0) : T(1) / b.running.sum[lane];
}

template <typename T>
void WriteOutput(Block<T>& b) {
  for (int64_t lane = 0; lane < b.query_count; lane += kGroup) {
    T factors[kGroup];
    const int64_t count = std::min(kGroup, b.query_count - lane);
    for (int64_t r = 0; r < kGroup; ++r) {
      factors[r] = r < count ? Normalizer(b, lane + r) : T(0);
    }
    CopyFours<T>(b.output + lane, kBlock<T>, b.columns, b.fours, kGroup,
                 std::min(kGroup, kBlock<T> - lane));
    const auto place = [&](int64_t r) {
      return b.task.out->output.at(b.problem.OutputRow(
          b.task.b, b.task.h, b.task.first_query + lane + r));
    };
    T* rows[kGroup];
    for (int64_t r = 0; r < kGroup; ++r) {
      const bool as_it_is =
          r < count && IsArrayOf<T>(b.problem.dtype, place(r));
      rows[r] = as_it_is ? reinterpret_cast<T*>(place(r)) : b.rows[r];
    }
    Deinterleave<T>(b.fours, b.problem.value_dim, factors, rows);
    for (int64_t r = 0; r < count; ++r) {
      if (rows[r] != b.rows[r]) continue;
      WriteRow(b.problem.dtype, b.rows[r], b.problem.value_dim, place(r));
    }
  }
}

template <typename T>
void WriteLogSumExp(Block<T>& b) {
  for (int64_t lane = 0; lane < b.query_count; ++lane) {
    const double sum = b.running.sum[lane];
    const double value =
        sum == 0 ? -std::numeric_limits<double>::infinity()
                 : b.running.max[lane] * kLn2 + std::log(sum) + b.shifts[lane];
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
  T* const row = b.rows[0];
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
