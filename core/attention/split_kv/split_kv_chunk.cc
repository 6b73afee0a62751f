// AttendChunk(): few queries and one chunk of keys. Compiled for several
// instruction sets; the best one is chosen at run time. Scores are in units of
// log2, as in tiled_block.cc.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/attention/split_kv/split_kv.h"
#include "core/attention/tiled/rows.h"
#include "core/attention/tiled/score_terms.h"
#include "core/attention/tiled/tile.h"

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/split_kv/split_kv_chunk.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/attention/tiled/relative_terms-inl.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/simd/flush_denormals.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Prefetch distance. Prefetching beyond the end of an array is harmless.
constexpr int64_t kPrefetchBytes = 8192;

// Sets products[r] to the dot product of the query and row r, for kCount rows.
// Rows are read in the order in which they are stored. rows: [kCount, dim].
template <typename T, int kCount>
HWY_INLINE void Dots(const T* HWY_RESTRICT query, const T* HWY_RESTRICT rows,
                     int64_t dim, T* HWY_RESTRICT products) {
  constexpr Tag<T> d;
  constexpr int64_t kLanes = Lanes<T>();
  for (int r = 0; r < kCount; ++r) {
    const T* const row = rows + r * dim;
    auto even = hn::Zero(d);
    auto odd = hn::Zero(d);
    int64_t c = 0;
    for (; c + 2 * kLanes <= dim; c += 2 * kLanes) {
      hwy::Prefetch(row + c + kPrefetchBytes / sizeof(T));
      even = hn::MulAdd(hn::LoadU(d, query + c), hn::LoadU(d, row + c), even);
      odd = hn::MulAdd(hn::LoadU(d, query + c + kLanes),
                       hn::LoadU(d, row + c + kLanes), odd);
    }
    for (; c + kLanes <= dim; c += kLanes) {
      even = hn::MulAdd(hn::LoadU(d, query + c), hn::LoadU(d, row + c), even);
    }
    T total = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    for (; c < dim; ++c) total += query[c] * row[c];
    products[r] = total;
  }
}

// Adds the sum over n of weights[n] * rows[n * stride + c] to output[c], for
// kCount vectors of columns c.
template <typename T, int kCount>
HWY_INLINE void AddColumns(const T* HWY_RESTRICT weights,
                           const T* HWY_RESTRICT rows, int64_t stride,
                           int64_t count, T* HWY_RESTRICT output) {
  constexpr Tag<T> d;
  Vector<T> sum[kCount];
  for (int v = 0; v < kCount; ++v) {
    sum[v] = hn::LoadU(d, output + v * Lanes<T>());
  }
  for (int64_t n = 0; n < count; ++n) {
    const auto x = hn::Set(d, weights[n]);
    for (int v = 0; v < kCount; ++v) {
      hwy::Prefetch(rows + n * stride + v * Lanes<T>() +
                    kPrefetchBytes / sizeof(T));
      sum[v] = hn::MulAdd(x, hn::LoadU(d, rows + n * stride + v * Lanes<T>()),
                          sum[v]);
    }
  }
  for (int v = 0; v < kCount; ++v) {
    hn::StoreU(sum[v], d, output + v * Lanes<T>());
  }
}

// Adds the sum of `count` rows, each times its weight, to the output.
// rows: [count, dim]; output: [dim].
template <typename T>
HWY_INLINE void AddRows(const T* weights, const T* rows, int64_t dim,
                        int64_t count, T* output) {
  constexpr int64_t kLanes = Lanes<T>();
  int64_t c = 0;
  for (; c + 8 * kLanes <= dim; c += 8 * kLanes) {
    AddColumns<T, 8>(weights, rows + c, dim, count, output + c);
  }
  for (; c + 2 * kLanes <= dim; c += 2 * kLanes) {
    AddColumns<T, 2>(weights, rows + c, dim, count, output + c);
  }
  for (; c + kLanes <= dim; c += kLanes) {
    AddColumns<T, 1>(weights, rows + c, dim, count, output + c);
  }
  for (; c < dim; ++c) {
    for (int64_t n = 0; n < count; ++n) {
      output[c] += weights[n] * rows[n * dim + c];
    }
  }
}

// Implementation of AttendChunk(). A row is one query of one query head.
template <typename T>
class Chunk {
 public:
  explicit Chunk(const ChunkTask<T>& task)
      : task_(task),
        problem_(*task.problem),
        group_(problem_.query_head_count / problem_.key_head_count),
        rows_(group_ * problem_.query_count) {
    char* next = ThreadScratch(ChunkScratchBytes(problem_));
    const auto allocate = [&](int64_t count) {
      T* const array = reinterpret_cast<T*>(next);
      next += RoundUp(count * static_cast<int64_t>(sizeof(T)),
                      AlignedBuffer<char>::kAlignment);
      return array;
    };
    tile_ = allocate(kTileKeys * std::max(problem_.dim, problem_.value_dim));
    scores_ = allocate(rows_ * kChunkKeys);
    terms_ = reinterpret_cast<double*>(allocate(2 * kChunkKeys));
  }

  void Run() {
    ForEachTile(problem_.inputs.k, problem_.dim, /*rotate=*/true,
                [this](const Tile& tile) { Score(tile); });
    for (int64_t r = 0; r < rows_; ++r) ComputeSoftmax(r);
    ForEachTile(problem_.inputs.v, problem_.value_dim, /*rotate=*/false,
                [this](const Tile& tile) { AddValues(tile); });
  }

 private:
  // The keys or values [first, first + count), converted to T.
  struct Tile {
    int64_t first = 0;
    int64_t count = 0;
    const T* rows = nullptr;  // [count, dim]
  };

  // Calls body(tile) for the tiles of the chunk in a tensor of keys or values.
  template <typename Body>
  void ForEachTile(const TensorView& tensor, int64_t dim, bool rotate,
                   const Body& body) {
    const Rotation* const rotation =
        rotate && problem_.rotation ? &*problem_.rotation : nullptr;
    const int64_t head = task_.b * problem_.key_head_count + task_.key_head;
    for (int64_t first = task_.first_key; first < task_.end_key;
         first += kTileKeys) {
      const int64_t count = std::min(kTileKeys, task_.end_key - first);
      RowAngles<T> angles;
      if (rotation != nullptr) {
        const int64_t angle = first * rotation->pair_count();
        angles = {rotation, task_.key_cos + angle, task_.key_sin + angle};
      }
      const int64_t element = (head * problem_.key_count + first) * dim;
      body(Tile{first, count,
                ReadRows<T>(tensor, element, count, dim, angles, tile_)});
    }
  }

  T* Scores(int64_t row) const { return scores_ + row * kChunkKeys; }
  int64_t Query(int64_t row) const { return row % problem_.query_count; }

  // The keys of the chunk that are visible to a row.
  KeyInterval Visible(int64_t row) const {
    const KeyInterval all = problem_.VisibleKeys(Query(row));
    const int64_t begin = std::max(all.begin, task_.first_key);
    return {begin, std::max(begin, std::min(all.end, task_.end_key))};
  }

  // Computes the scores of all rows and the keys of a tile.
  void Score(const Tile& tile) {
    const int64_t dim = problem_.dim;
    for (int64_t r = 0; r < rows_; ++r) {
      const KeyInterval visible = Visible(r);
      if (visible.begin >= tile.first + tile.count ||
          visible.end <= tile.first) {
        continue;
      }
      const T* const query = task_.queries + r * dim;
      T* const scores = Scores(r) + (tile.first - task_.first_key);
      int64_t n = 0;
      for (; n + kGroup <= tile.count; n += kGroup) {
        Dots<T, kGroup>(query, tile.rows + n * dim, dim, scores + n);
      }
      for (; n < tile.count; ++n) {
        Dots<T, 1>(query, tile.rows + n * dim, dim, scores + n);
      }
    }
  }

  // Replaces the scores of a row by 2^(score - max), or 0 for hidden keys, and
  // sets the maximum and the sum of its result.
  void ComputeSoftmax(int64_t row) {
    ChunkResult<T>& result = task_.results[row];
    const KeyInterval visible = Visible(row);
    T* const scores = Scores(row) + (visible.begin - task_.first_key);
    const int64_t count = visible.end - visible.begin;
    if (problem_.softcap > 0) ApplySoftcap(scores, count);
    if (problem_.bias != nullptr || problem_.mask) {
      result.max = AddTerms(row, visible, scores);
    } else {
      result.max = SubtractMax(scores, count);
    }
    result.sum = ExponentiateAndSum(scores, count);
    if (result.weights != nullptr) {
      std::copy_n(scores, count, result.weights + visible.begin);
    }
  }

  void ApplySoftcap(T* scores, int64_t count) {
    constexpr Tag<T> d;
    const auto cap = hn::Set(d, static_cast<T>(problem_.softcap * kLog2E));
    const auto capped = [&](const T* from, T* to) HWY_ATTR {
      hn::StoreU(hn::Mul(cap, hn::Tanh(d, hn::LoadU(d, from))), d, to);
    };
    int64_t n = 0;
    for (; n + Lanes<T>() <= count; n += Lanes<T>()) {
      capped(scores + n, scores + n);
    }
    // A vector beyond the last score could overlap the scores of the next row.
    HWY_ALIGN T tail[Lanes<T>()] = {};
    std::copy(scores + n, scores + count, tail);
    capped(tail, tail);
    std::copy_n(tail, count - n, scores + n);
  }

  // Subtracts the maximum from the scores and returns it, or 0 if there is
  // none.
  static double SubtractMax(T* scores, int64_t count) {
    constexpr Tag<T> d;
    constexpr int64_t kLanes = Lanes<T>();
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    auto vector_max = hn::Set(d, kHidden);
    int64_t n = 0;
    for (; n + kLanes <= count; n += kLanes) {
      vector_max = hn::Max(vector_max, hn::LoadU(d, scores + n));
    }
    T max = hn::GetLane(hn::MaxOfLanes(d, vector_max));
    for (; n < count; ++n) max = std::max(max, scores[n]);
    if (max == kHidden) max = 0;
    for (n = 0; n < count; ++n) scores[n] -= max;
    return max;
  }

  // Adds bias and mask to the scores, in double because terms can be large, and
  // subtracts the maximum of the sums, which it returns. Hidden keys get -inf.
  double AddTerms(int64_t row, const KeyInterval& keys, T* scores) {
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    const int64_t h = task_.key_head * group_ + row / problem_.query_count;
    const int64_t count = keys.end - keys.begin;
    ScoreTerms(problem_, task_.b, h, problem_.bias != nullptr)
        .Row(Query(row), keys.begin, count, terms_);
    double max = kHidden;
    for (int64_t n = 0; n < count; ++n) {
      if (terms_[n] != kHidden) terms_[n] += scores[n] * kLn2;
      max = std::max(max, terms_[n]);
    }
    if (max == kHidden) max = 0;
    RelativeTerms<T>(terms_, count, max, scores);
    return max * kLog2E;
  }

  // Replaces the scores by powers of two and returns their sum.
  static double ExponentiateAndSum(T* scores, int64_t count) {
    constexpr Tag<T> d;
    auto sum = hn::Zero(d);
    int64_t n = 0;
    for (; n + Lanes<T>() <= count; n += Lanes<T>()) {
      const auto p = Exp2<T>(hn::LoadU(d, scores + n));
      hn::StoreU(p, d, scores + n);
      sum = hn::Add(sum, p);
    }
    double total = hn::GetLane(hn::SumOfLanes(d, sum));
    for (; n < count; ++n) {
      scores[n] = hn::GetLane(Exp2<T>(hn::Set(d, scores[n])));
      total += scores[n];
    }
    return total;
  }

  // Adds the values of a tile, times their weights, to the outputs of all rows.
  void AddValues(const Tile& tile) {
    for (int64_t r = 0; r < rows_; ++r) {
      const KeyInterval visible = Visible(r);
      int64_t first = std::max(visible.begin, tile.first);
      const int64_t end = std::min(visible.end, tile.first + tile.count);
      while (first < end) {
        int64_t last = end;
        if (problem_.mask) {
          // Values of masked keys may be NaN, which a weight of 0 does not
          // cancel.
          first = SkipHidden(r, first, end);
          last = FindHidden(r, first, end);
        }
        AddRows<T>(Scores(r) + (first - task_.first_key),
                   tile.rows + (first - tile.first) * problem_.value_dim,
                   problem_.value_dim, last - first, task_.results[r].output);
        first = last;
      }
    }
  }

  // Whether the mask hides key j from a row.
  bool IsHidden(int64_t row, int64_t j) const {
    const int64_t h = task_.key_head * group_ + row / problem_.query_count;
    return problem_.mask->At(task_.b, h, Query(row), j) ==
           -std::numeric_limits<double>::infinity();
  }
  // The first visible key in [j, end), or end.
  int64_t SkipHidden(int64_t row, int64_t j, int64_t end) const {
    while (j < end && IsHidden(row, j)) ++j;
    return j;
  }
  // The first hidden key in [j, end), or end.
  int64_t FindHidden(int64_t row, int64_t j, int64_t end) const {
    while (j < end && !IsHidden(row, j)) ++j;
    return j;
  }

  const ChunkTask<T>& task_;
  const AttentionProblem& problem_;
  const int64_t group_;  // query heads per key head
  const int64_t rows_;   // queries that share the key head
  T* tile_;              // buffer for the rows of a tile
  T* scores_;            // [rows, kChunkKeys]
  double* terms_;        // [kChunkKeys]
};

void AttendChunkF32(const ChunkTask<float>& task) {
  const FlushDenormals flush;
  Chunk<float>(task).Run();
  TrimThreadScratch();
}
void AttendChunkF64(const ChunkTask<double>& task) {
  Chunk<double>(task).Run();
  TrimThreadScratch();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(AttendChunkF32);
HWY_EXPORT(AttendChunkF64);

template <>
void SplitKvKernel<float>::AttendChunk(const ChunkTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(AttendChunkF32)(task);
}
template <>
void SplitKvKernel<double>::AttendChunk(const ChunkTask<double>& task) {
  HWY_DYNAMIC_DISPATCH(AttendChunkF64)(task);
}

}  // namespace locus
#endif  // HWY_ONCE
