// One block of queries against the tiles of keys it sees, compiled for every
// instruction set that pays and chosen at run time.
//
// Scores are kept in units of log2: queries are multiplied by
// scale * log2(e) when they are packed, biases and masks by log2(e) when they
// are added, so that the softmax takes powers of two.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/attention/tile.h"

// The generic build runs everywhere; the steps left out here gain little over
// the next lower one and cost compile time.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/tiled_block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/attention/scratch.h"
#include "core/attention/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// The tiles of keys between the block's first and last visible one.
struct Tile {
  int64_t first = 0;  // key index
  int64_t count = 0;
};

template <typename T>
class Block {
 public:
  explicit Block(const BlockTask<T>& task)
      : task_(task),
        problem_(*task.problem),
        query_count_(std::min(BlockQueries<T>(),
                              problem_.query_count - task.first_query)) {
    const int64_t value_columns = RoundUp(problem_.value_dim, kGroup);
    ScratchArena<T> arena(problem_);
    queries_ = arena.Take(problem_.dim * kBlock);
    scores_ = arena.Take(kTileKeys * kBlock);
    added_ = arena.Take(kTileKeys * kBlock);
    seen_ = arena.Take(kTileKeys * kBlock);
    output_ = arena.Take(value_columns * kBlock);
    diagonal_ = arena.Take(kTileKeys + kBlock);
    running_ = {arena.Take(kBlock), arena.Take(kBlock), arena.Take(kBlock)};
    first_ = arena.Take(kBlock);
    last_ = arena.Take(kBlock);
    row_ = arena.Take(std::max({problem_.dim, value_columns, kTileKeys}));
    std::fill_n(output_, value_columns * kBlock, T(0));
    std::fill_n(running_.sum, kBlock, T(0));
    std::fill_n(running_.max, kBlock, -std::numeric_limits<T>::infinity());
    // Both ends of the visible interval grow with the query.
    visible_ = {problem_.VisibleKeys(task.first_query).first,
                problem_.VisibleKeys(task.first_query + query_count_ - 1).last};
    inner_ = {problem_.VisibleKeys(task.first_query + query_count_ - 1).first,
              problem_.VisibleKeys(task.first_query).last};
  }

  void Run() {
    PackQueries();
    ComputeShifts();
    ForEachTile([this](const Tile& tile) {
      ComputeScores(tile);
      const bool irregular = task_.head.irregular[tile.first / kTileKeys];
      if (irregular) std::copy_n(scores_, tile.count * kBlock, seen_);
      if (UpdateSoftmax<T>(scores_, tile.count, running_)) {
        Fade<T>(running_.fade, RoundUp(problem_.value_dim, kGroup), output_);
      }
      AccumulateValues(tile);
      if (irregular) AddIrregularValues(tile);
    });
    WriteOutput();
    if (task_.out->log_sum_exp) WriteLogSumExp();
    if (task_.out->weights) {
      ForEachTile([this](const Tile& tile) {
        ComputeScores(tile);
        WriteWeights(tile);
      });
    }
  }

 private:
  static constexpr int64_t kBlock = BlockQueries<T>();
  // Some hundred microseconds of work.
  static constexpr int64_t kTilesBetweenChecks = 32;

  template <typename Body>
  void ForEachTile(const Body& body) {
    if (visible_.empty()) return;
    int64_t until_check = kTilesBetweenChecks;
    for (int64_t first = visible_.first / kTileKeys * kTileKeys;
         first < visible_.last; first += kTileKeys) {
      if (--until_check == 0) {
        if (task_.stopper->ShouldStop()) return;
        until_check = kTilesBetweenChecks;
      }
      body(Tile{first, std::min(kTileKeys, problem_.key_count - first)});
    }
  }

  // queries_: [D, kBlock], rotated and scaled; lanes without a query are zero.
  void PackQueries() {
    const int64_t dim = problem_.dim;
    const double unit = problem_.softcap > 0 ? 1 / problem_.softcap : kLog2E;
    const T factor = static_cast<T>(problem_.scale * unit);
    std::fill_n(queries_, dim * kBlock, T(0));
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const int64_t i = task_.first_query + lane;
      ReadRow(problem_.dtype,
              problem_.inputs.q.at(problem_.QueryRow(task_.b, task_.h, i)), dim,
              row_);
      if (problem_.rotation) {
        const int64_t pairs = problem_.rotation->pair_count();
        problem_.rotation->Apply(task_.query_cos + i * pairs,
                                 task_.query_sin + i * pairs, row_);
      }
      for (int64_t c = 0; c < dim; ++c) {
        queries_[c * kBlock + lane] = row_[c] * factor;
      }
    }
  }

  // A softmax does not change when a constant is added to all scores of a
  // query. What is subtracted, in double, from an unbounded bias and from an
  // additive mask is the largest value the query sees, so that what is left is
  // small where it matters: a row masked by -1e9 throughout is not all alike.
  void ComputeShifts() {
    std::fill_n(shifts_, kBlock, 0.0);
    if (task_.bias_mode == BiasMode::kDiagonal) {
      std::fill_n(shifts_, kBlock,
                  Largest(visible_, [this](int64_t j) { return Bias(0, j); }));
    } else if (AddedNeedsShift()) {
      for (int64_t lane = 0; lane < query_count_; ++lane) {
        if (task_.stopper->ShouldStop()) return;
        const KeyInterval visible =
            problem_.VisibleKeys(task_.first_query + lane);
        shifts_[lane] = Largest(
            visible, [this, lane](int64_t j) { return Added(lane, j); });
        // Beyond this the twin's own double rounds away digits that matter.
        coarse_ |= std::abs(shifts_[lane]) > 1e9;
      }
    }
  }

  bool AddedNeedsShift() const {
    if (problem_.mask && problem_.mask->tensor.dtype != DType::kBool) {
      return true;
    }
    return task_.bias_mode == BiasMode::kGeneral && !problem_.bias->is_small();
  }

  // The largest value over the keys; 0 if that is not finite.
  template <typename Value>
  static double Largest(const KeyInterval& keys, const Value& value) {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = keys.first; j < keys.last; ++j) {
      largest = std::max(largest, value(j));
    }
    return std::isfinite(largest) ? largest : 0;
  }

  // Mask, and bias where it comes one by one.
  double Added(int64_t lane, int64_t j) const {
    double value = task_.bias_mode == BiasMode::kGeneral ? Bias(lane, j) : 0;
    if (problem_.mask) {
      value += problem_.mask->At(task_.b, task_.h, task_.first_query + lane, j);
    }
    return value;
  }

  double Bias(int64_t lane, int64_t j) const {
    return problem_.bias->At(task_.h,
                             problem_.query_positions[task_.first_query + lane],
                             problem_.key_positions[j]);
  }

  // scores_: [tile.count, kBlock], -inf where hidden.
  void ComputeScores(const Tile& tile) {
    const int64_t padded = RoundUp(tile.count, kGroup);
    std::fill_n(scores_, padded * kBlock, T(0));
    for (int64_t j = 0; j < tile.count; j += kGroup) {
      RankOneUpdates<T>(queries_,
                        task_.head.keys + (tile.first + j) * problem_.dim,
                        problem_.dim, scores_ + j * kBlock);
    }
    if (problem_.softcap > 0) CapScores(tile);
    if (const T* diagonal = Diagonal(tile)) AddDiagonal(tile, diagonal);
    if (problem_.mask || task_.bias_mode == BiasMode::kGeneral) {
      FillAdded(tile);
      AddAdded(tile);
    }
    if (tile.first < inner_.first || tile.first + tile.count > inner_.last) {
      HideOutside(tile);
    }
  }

  void CapScores(const Tile& tile) {
    constexpr Tag<T> d;
    const auto cap = hn::Set(d, static_cast<T>(problem_.softcap * kLog2E));
    for (int64_t n = 0; n < tile.count * kBlock; n += Lanes<T>()) {
      hn::Store(hn::Mul(cap, hn::Tanh(d, hn::Load(d, scores_ + n))), d,
                scores_ + n);
    }
  }

  // Where the bias of query lane and key tile.first + j stands, at lane - j;
  // null if it comes in another way.
  const T* Diagonal(const Tile& tile) {
    if (task_.bias_mode == BiasMode::kTable) {
      return task_.bias_table + (problem_.key_count - 1) +
             (task_.first_query - tile.first);
    }
    if (task_.bias_mode != BiasMode::kDiagonal) return nullptr;
    T* const origin = diagonal_ + tile.count - 1;
    const int64_t query = problem_.query_positions[task_.first_query];
    const int64_t key = problem_.key_positions[tile.first];
    for (int64_t n = -(tile.count - 1); n < query_count_; ++n) {
      // The bias of two consecutive ranges depends on the offset alone; a
      // negative n is a later key, a positive one a later query.
      const double bias =
          problem_.bias->At(task_.h, query + std::max<int64_t>(n, 0),
                            key - std::min<int64_t>(n, 0));
      origin[n] = static_cast<T>((bias - shifts_[0]) * kLog2E);
    }
    std::fill(origin + query_count_, origin + kBlock, T(0));
    return origin;
  }

  void AddDiagonal(const Tile& tile, const T* diagonal) {
    constexpr Tag<T> d;
    for (int64_t j = 0; j < tile.count; ++j) {
      for (int64_t lane = 0; lane < kBlock; lane += Lanes<T>()) {
        T* const place = scores_ + j * kBlock + lane;
        const auto bias = hn::LoadU(d, diagonal + lane - j);
        hn::Store(hn::Add(hn::Load(d, place), bias), d, place);
      }
    }
  }

  // added_: [tile.count, kBlock], relative to the shifts, in units of log2.
  void FillAdded(const Tile& tile) {
    for (int64_t j = 0; j < tile.count; ++j) {
      T* const row = added_ + j * kBlock;
      std::fill_n(row, kBlock, T(0));
      for (int64_t lane = 0; lane < query_count_; ++lane) {
        const double value = Added(lane, tile.first + j);
        const double relative = (value - shifts_[lane]) * kLog2E;
        // Only -inf hides; a number too small for T does not become one.
        row[lane] = std::isinf(value)
                        ? static_cast<T>(value)
                        : static_cast<T>(std::max<double>(
                              relative, std::numeric_limits<T>::lowest()));
      }
      if (coarse_) RoundLikeDouble(tile.first + j, scores_ + j * kBlock);
    }
  }

  // Next to a huge shift, scores keep only the digits that double leaves them.
  void RoundLikeDouble(int64_t key, T* scores) const {
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const double value = Added(lane, key);
      if (!std::isfinite(value)) continue;
      const double score = scores[lane] * kLn2;
      scores[lane] = static_cast<T>(((score + value) - value) * kLog2E);
    }
  }

  // -inf hides whatever the score is, NaN included.
  void AddAdded(const Tile& tile) {
    constexpr Tag<T> d;
    const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (int64_t n = 0; n < tile.count * kBlock; n += Lanes<T>()) {
      const auto added = hn::Load(d, added_ + n);
      const auto sum = hn::Add(hn::Load(d, scores_ + n), added);
      hn::Store(hn::IfThenElse(hn::Eq(added, hidden), hidden, sum), d,
                scores_ + n);
    }
  }

  // Hides the keys outside each query's interval. Indices relative to the tile
  // are small and exact in T.
  void HideOutside(const Tile& tile) {
    constexpr Tag<T> d;
    for (int64_t lane = 0; lane < kBlock; ++lane) {
      const KeyInterval visible = problem_.VisibleKeys(
          task_.first_query + std::min(lane, query_count_ - 1));
      first_[lane] = static_cast<T>(
          std::clamp<int64_t>(visible.first - tile.first, 0, tile.count));
      last_[lane] = static_cast<T>(
          std::clamp<int64_t>(visible.last - tile.first, 0, tile.count));
    }
    const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (int64_t j = 0; j < tile.count; ++j) {
      const auto key = hn::Set(d, static_cast<T>(j));
      for (int64_t lane = 0; lane < kBlock; lane += Lanes<T>()) {
        T* const place = scores_ + j * kBlock + lane;
        const auto visible = hn::And(hn::Ge(key, hn::Load(d, first_ + lane)),
                                     hn::Lt(key, hn::Load(d, last_ + lane)));
        hn::Store(hn::IfThenElse(visible, hn::Load(d, place), hidden), d,
                  place);
      }
    }
  }

  // output_: [Dv, kBlock] += probabilities times values.
  void AccumulateValues(const Tile& tile) {
    const int64_t columns = RoundUp(problem_.value_dim, kGroup);
    const T* values = task_.head.values + tile.first * columns;
    for (int64_t c = 0; c < columns; c += kGroup) {
      RankOneUpdates<T>(scores_, values, tile.count, output_ + c * kBlock);
      values += tile.count * kGroup;
    }
  }

  // NaN and infinite values, which the packed ones leave out, reach exactly
  // the queries that see their key.
  void AddIrregularValues(const Tile& tile) {
    for (int64_t j = 0; j < tile.count; ++j) {
      const TensorView& v = problem_.inputs.v;
      const int64_t row =
          problem_.ValueRow(task_.b, problem_.KeyHead(task_.h), tile.first + j);
      ReadRow(v.dtype, v.at(row), problem_.value_dim, row_);
      for (int64_t c = 0; c < problem_.value_dim; ++c) {
        if (std::isfinite(row_[c])) continue;
        for (int64_t lane = 0; lane < kBlock; ++lane) {
          const int64_t n = j * kBlock + lane;
          if (seen_[n] == -std::numeric_limits<T>::infinity()) continue;
          output_[c * kBlock + lane] += scores_[n] * row_[c];
        }
      }
    }
  }

  // 1 / sum, or 0 for a query that saw nothing.
  T Normalizer(int64_t lane) const {
    return running_.sum[lane] == 0 ? T(0) : T(1) / running_.sum[lane];
  }

  void WriteOutput() {
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const T normalizer = Normalizer(lane);
      for (int64_t c = 0; c < problem_.value_dim; ++c) {
        row_[c] = output_[c * kBlock + lane] * normalizer;
      }
      WriteRow(problem_.dtype, row_, problem_.value_dim,
               task_.out->output.at(problem_.OutputRow(
                   task_.b, task_.h, task_.first_query + lane)));
    }
  }

  void WriteLogSumExp() {
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const double sum = running_.sum[lane];
      const double value =
          sum == 0 ? -std::numeric_limits<double>::infinity()
                   : running_.max[lane] * kLn2 + std::log(sum) + shifts_[lane];
      WriteRow(problem_.wide_dtype, &value, 1,
               task_.out->log_sum_exp->at(problem_.QueryIndex(
                   task_.b, task_.h, task_.first_query + lane)));
    }
  }

  // scores_ hold the tile's scores again; the softmax is complete by now.
  void WriteWeights(const Tile& tile) {
    constexpr Tag<T> d;
    const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
    for (int64_t lane = 0; lane < kBlock; lane += Lanes<T>()) {
      const auto max = hn::Load(d, running_.max + lane);
      const auto sum = hn::Load(d, running_.sum + lane);
      const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
      for (int64_t j = 0; j < tile.count; ++j) {
        T* const place = scores_ + j * kBlock + lane;
        const auto score = hn::Load(d, place);
        const auto weight = hn::Div(Exp2<T>(hn::Sub(score, reference)), sum);
        // Not seen is 0, even of a query that has seen nothing, or a NaN.
        hn::Store(hn::IfThenZeroElse(hn::Eq(score, hidden), weight), d, place);
      }
    }
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      for (int64_t j = 0; j < tile.count; ++j) {
        row_[j] = scores_[j * kBlock + lane];
      }
      const int64_t query =
          problem_.QueryIndex(task_.b, task_.h, task_.first_query + lane);
      WriteRow(problem_.wide_dtype, row_, tile.count,
               task_.out->weights->at(query * problem_.key_count + tile.first));
    }
  }

  const BlockTask<T>& task_;
  const AttentionProblem& problem_;
  const int64_t query_count_;
  KeyInterval visible_;  // seen by any query of the block
  KeyInterval inner_;    // seen by every query of the block
  double shifts_[kBlock];
  bool coarse_ = false;  // whether a shift is so large that digits are lost
  T* queries_;
  T* scores_;
  T* added_;
  T* seen_;
  T* output_;
  T* diagonal_;
  T* first_;
  T* last_;
  T* row_;
  RunningSoftmax<T> running_;
};

int64_t BlockQueriesF32() { return BlockQueries<float>(); }
int64_t BlockQueriesF64() { return BlockQueries<double>(); }
void AttendBlockF32(const BlockTask<float>& task) {
  Block<float>(task).Run();
  TrimThreadScratch();
}
void AttendBlockF64(const BlockTask<double>& task) {
  Block<double>(task).Run();
  TrimThreadScratch();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(BlockQueriesF32);
HWY_EXPORT(BlockQueriesF64);
HWY_EXPORT(AttendBlockF32);
HWY_EXPORT(AttendBlockF64);

template <>
int64_t TiledKernel<float>::BlockQueries() {
  return HWY_DYNAMIC_DISPATCH(BlockQueriesF32)();
}
template <>
int64_t TiledKernel<double>::BlockQueries() {
  return HWY_DYNAMIC_DISPATCH(BlockQueriesF64)();
}
template <>
void TiledKernel<float>::AttendBlock(const BlockTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(AttendBlockF32)(task);
}
template <>
void TiledKernel<double>::AttendBlock(const BlockTask<double>& task) {
  HWY_DYNAMIC_DISPATCH(AttendBlockF64)(task);
}

}  // namespace locus
#endif  // HWY_ONCE
