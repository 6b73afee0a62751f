// One block of queries against the tiles of keys it sees, compiled for every
// instruction set that pays and chosen at run time.
//
// Scores are kept in units of log2: queries are multiplied by
// scale * log2(e) when they are packed, biases and masks by log2(e) when they
// are added, so that the softmax takes powers of two.
//
// The tile nearest to the queries comes first and is taken step by step, which
// finds each query's maximum. Tiles that all queries see are then taken in
// passing: scores become probabilities before they leave the registers,
// relative to that maximum, which hardly ever has to change. Where the bias
// fades with distance, tiles are left out once all that remain cannot change a
// digit of the result.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/attention/added_terms.h"
#include "core/attention/tile.h"

#include "core/base/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/tiled_block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "core/attention/relative_terms-inl.h"
#include "core/attention/scratch.h"
#include "core/attention/tile-inl.h"
#include "core/base/flush_denormals.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <typename T>
class Block {
 public:
  explicit Block(const BlockTask<T>& task)
      : task_(task),
        problem_(*task.problem),
        query_count_(std::min(BlockQueries<T>(),
                              problem_.query_count - task.first_query)),
        lanes_(RoundUp(query_count_, Lanes<T>())),
        columns_(RoundUp(problem_.value_dim, kGroup)) {
    ScratchArena<T> arena(problem_);
    queries_ = arena.Take(problem_.dim * kBlock);
    scores_ = arena.Take(kTileKeys * kBlock);
    added_ = arena.Take(kTileKeys * kBlock);
    seen_ = arena.Take(kTileKeys * kBlock);
    output_ = arena.Take(columns_ * kBlock);
    diagonal_ = arena.Take(kTileKeys + kBlock);
    running_ = {arena.Take(kBlock), arena.Take(kBlock), arena.Take(kBlock)};
    norms_ = arena.Take(kBlock);
    first_ = arena.Take(kBlock);
    last_ = arena.Take(kBlock);
    const int64_t widest = std::max({problem_.dim, columns_, kTileKeys});
    for (T*& row : rows_) row = arena.Take(widest);
    fours_ = arena.Take(kGroup * widest);
    std::fill_n(output_, columns_ * kBlock, T(0));
    std::fill_n(running_.sum, kBlock, T(0));
    std::fill_n(running_.max, kBlock, -std::numeric_limits<T>::infinity());
    // Both ends of the visible interval grow with the query.
    visible_ = {problem_.VisibleKeys(task.first_query).first,
                problem_.VisibleKeys(task.first_query + query_count_ - 1).last};
    inner_ = {problem_.VisibleKeys(task.first_query + query_count_ - 1).first,
              problem_.VisibleKeys(task.first_query).last};
  }

  void Run() {
    if (!visible_.empty()) {
      PackQueries();
      ComputeShifts();
      AttendFromNearest();
    }
    WriteOutput();
    if (task_.out->log_sum_exp) WriteLogSumExp();
    if (task_.out->weights && !visible_.empty()) {
      for (int64_t n = FirstTile(); n <= LastTile(); ++n) {
        if (ShouldStop()) return;
        const Tile tile = TileAt(n);
        ComputeScores(tile);
        WriteWeights(tile);
      }
    }
  }

 private:
  static constexpr int64_t kBlock = BlockQueries<T>();
  // Some hundred microseconds of work.
  static constexpr int64_t kTilesBetweenChecks = 32;
  // What is left out is less than this, as a power of two, of what is there.
  static constexpr double kLostBits = sizeof(T) == 4 ? 27 : 56;

  // Visible keys of one tile.
  struct Tile {
    int64_t index = 0;
    int64_t first = 0;  // key
    int64_t count = 0;
  };

  int64_t FirstTile() const { return visible_.first / kTileKeys; }
  int64_t LastTile() const { return (visible_.last - 1) / kTileKeys; }

  // The visible part of a tile, from a whole group on.
  Tile TileAt(int64_t index) const {
    const int64_t first =
        std::max(index * kTileKeys, visible_.first / kGroup * kGroup);
    const int64_t last = std::min((index + 1) * kTileKeys, visible_.last);
    return {index, first, last - first};
  }

  bool ShouldStop() {
    if (++tiles_since_check_ < kTilesBetweenChecks) return false;
    tiles_since_check_ = 0;
    return task_.stopper->ShouldStop();
  }

  void AttendFromNearest() {
    const int64_t start =
        std::clamp(NearestKey() / kTileKeys, FirstTile(), LastTile());
    for (int64_t n = start; n >= FirstTile(); --n) {
      if (ShouldStop()) return;
      if (n < start && NoneMattersUpTo(n)) break;
      Take(TileAt(n));
    }
    for (int64_t n = start + 1; n <= LastTile(); ++n) {
      if (ShouldStop()) return;
      if (NoneMattersFrom(n)) break;
      Take(TileAt(n));
    }
  }

  // The key that stands where the block's last query does.
  int64_t NearestKey() const {
    const int64_t last = task_.first_query + query_count_ - 1;
    const int64_t key =
        task_.bias_mode == BiasMode::kOffsets
            ? problem_.query_positions[last] - problem_.key_positions[0]
            : problem_.query_offset + last;
    return std::clamp(key, visible_.first, visible_.last - 1);
  }

  void Take(const Tile& tile) {
    const Sight sight = LookThroughMask(tile);
    if (sight == Sight::kNothing) return;
    const bool irregular = task_.head.tiles[tile.index].irregular;
    if (!irregular && sight == Sight::kEverything && IsPlain(tile) &&
        TakeInPassing(tile)) {
      return;
    }
    ComputeScores(tile);
    if (irregular) std::copy_n(scores_, tile.count * kBlock, seen_);
    if (UpdateSoftmax<T>(scores_, tile.count, lanes_, running_)) {
      Fade<T>(running_.fade, columns_, lanes_, output_);
    }
    AccumulateValues(tile);
    if (irregular) AddIrregularValues(tile);
    LookForMaxima();
  }

  // What a mask lets through. Only of a mask of bools is it found out.
  enum class Sight { kNothing, kSomething, kEverything };
  Sight LookThroughMask(const Tile& tile) const {
    if (!problem_.mask) return Sight::kEverything;
    if (!HasBoolMask()) return Sight::kSomething;
    const auto size = static_cast<size_t>(tile.count);
    const int64_t rows = problem_.mask->query_stride == 0 ? 1 : query_count_;
    bool everything = true;
    bool nothing = true;
    for (int64_t lane = 0; lane < rows; ++lane) {
      const char* const row = MaskRow(lane, tile.first);
      everything = everything && std::memchr(row, 0, size) == nullptr;
      nothing =
          nothing && *row == 0 && std::memcmp(row, row + 1, size - 1) == 0;
      if (!everything && !nothing) return Sight::kSomething;
    }
    return everything ? Sight::kEverything : Sight::kNothing;
  }

  // Whether the mask has a byte for each key.
  bool HasBoolMask() const {
    return problem_.mask && problem_.mask->tensor.dtype == DType::kBool &&
           problem_.mask->key_stride == 1;
  }
  const char* MaskRow(int64_t lane, int64_t key) const {
    const Mask& mask = *problem_.mask;
    return mask.tensor.at(
        mask.Element(task_.b, task_.h, task_.first_query + lane, key));
  }

  // Whether nothing but scale, and a bias by offset, happens to its scores.
  bool IsPlain(const Tile& tile) const {
    return has_maxima_ && problem_.softcap == 0 &&
           task_.bias_mode != BiasMode::kGeneral && tile.count % kGroup == 0 &&
           tile.first >= inner_.first && tile.first + tile.count <= inner_.last;
  }

  bool TakeInPassing(const Tile& tile) {
    const T* const keys = task_.head.keys + tile.first * problem_.dim;
    const T* const diagonal = Diagonal(tile);
    bool taken = false;
    WithVectors(lanes_ / Lanes<T>(), [&](auto vectors) HWY_ATTR {
      taken = TakeProbabilities<T, decltype(vectors)::value>(
          queries_, keys, problem_.dim, tile.count, diagonal, running_,
          scores_);
    });
    if (taken) AccumulateValues(tile);
    return taken;
  }

  void LookForMaxima() {
    constexpr Tag<T> d;
    has_maxima_ = true;
    for (int64_t lane = 0; lane < lanes_; lane += Lanes<T>()) {
      has_maxima_ &=
          hn::AllTrue(d, hn::IsFinite(hn::Load(d, running_.max + lane)));
    }
  }

  // Whether the keys of tile n and of all before it, together, weigh too little
  // to change a digit.
  bool NoneMattersUpTo(int64_t n) {
    if (!task_.prune) return false;
    const int64_t last = std::min((n + 1) * kTileKeys, visible_.last) - 1;
    const int64_t offset = problem_.query_positions[task_.first_query] -
                           problem_.key_positions[last];
    return offset > 0 && NoneMatters(offset, last + 1 - visible_.first,
                                     task_.head.tiles[n].up_to_here);
  }
  bool NoneMattersFrom(int64_t n) {
    if (!task_.prune) return false;
    const int64_t first = n * kTileKeys;
    const int64_t offset =
        problem_.query_positions[task_.first_query + query_count_ - 1] -
        problem_.key_positions[first];
    return offset < 0 && NoneMatters(offset, visible_.last - first,
                                     task_.head.tiles[n].from_here);
  }

  // A score without its bias is at most |query| |key|; the sum of what biases
  // at that distance and beyond let through has a bound of its own. All in
  // units of log2. Written so that a NaN is never small.
  bool NoneMatters(int64_t offset, int64_t key_count, const Reach& reach) {
    const double tail =
        (problem_.bias->LogTail(task_.h, offset, key_count) - bias_shift_) *
        kLog2E;
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const double weight = tail + MostWithoutBias(lane, reach.key_norm);
      const double present =
          running_.max[lane] + std::log2(double{running_.sum[lane]});
      if (!(weight <= present - kLostBits)) return false;
    }
    FindLargestOutputs();
    const double value = std::log2(reach.value);
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const double weight = tail + MostWithoutBias(lane, reach.key_norm);
      const double present =
          running_.max[lane] + std::log2(double{running_.fade[lane]});
      if (!(weight + value <= present - kLostBits)) return false;
    }
    return true;
  }

  double MostWithoutBias(int64_t lane, double key_norm) const {
    const double most = norms_[lane] * key_norm;
    if (problem_.softcap == 0) return most;
    return problem_.softcap * kLog2E * std::min(most, 1.0);
  }

  // Into the place of the fades: each query's largest output without its sign.
  void FindLargestOutputs() {
    constexpr Tag<T> d;
    for (int64_t lane = 0; lane < lanes_; lane += Lanes<T>()) {
      auto largest = hn::Zero(d);
      for (int64_t c = 0; c < columns_; ++c) {
        largest =
            hn::Max(hn::Abs(hn::Load(d, output_ + c * kBlock + lane)), largest);
      }
      hn::Store(largest, d, running_.fade + lane);
    }
  }

  // queries_: [D, kBlock], rotated and scaled; lanes without a query are zero.
  void PackQueries() {
    const int64_t dim = problem_.dim;
    const double unit = problem_.softcap > 0 ? 1 / problem_.softcap : kLog2E;
    const T factor = static_cast<T>(problem_.scale * unit);
    for (int64_t lane = 0; lane < lanes_; lane += kGroup) {
      const T* rows[kGroup];
      for (int64_t r = 0; r < kGroup; ++r) rows[r] = Query(lane + r, rows_[r]);
      Interleave<T>(rows, dim, factor, fours_);
      CopyFours<T>(fours_, kGroup, dim, queries_ + lane, kBlock,
                   std::min(kGroup, kBlock - lane));
    }
    if (task_.prune) MeasureQueries();
  }

  // Where it lies if it needs no change, else in `own`.
  const T* Query(int64_t lane, T* own) const {
    if (lane >= query_count_) {
      std::fill_n(own, problem_.dim, T(0));
      return own;
    }
    const int64_t i = task_.first_query + lane;
    const char* const bytes =
        problem_.inputs.q.at(problem_.QueryRow(task_.b, task_.h, i));
    if (!problem_.rotation && IsArrayOf<T>(problem_.dtype, bytes)) {
      return reinterpret_cast<const T*>(bytes);
    }
    ReadRow(problem_.dtype, bytes, problem_.dim, own);
    if (problem_.rotation) {
      const int64_t pairs = problem_.rotation->pair_count();
      problem_.rotation->Apply(task_.query_cos + i * pairs,
                               task_.query_sin + i * pairs, own);
    }
    return own;
  }

  // norms_: of each packed query.
  void MeasureQueries() {
    constexpr Tag<T> d;
    for (int64_t lane = 0; lane < lanes_; lane += Lanes<T>()) {
      auto sum = hn::Zero(d);
      for (int64_t c = 0; c < problem_.dim; ++c) {
        const auto x = hn::Load(d, queries_ + c * kBlock + lane);
        sum = hn::MulAdd(x, x, sum);
      }
      hn::Store(hn::Sqrt(sum), d, norms_ + lane);
    }
  }

  // A softmax does not change when a constant is added to all scores of a
  // query. What is subtracted, in double, from an unbounded bias and from an
  // additive mask is the largest value the query sees, so that what is left is
  // small where it matters: a row masked by -1e9 throughout is not all alike.
  void ComputeShifts() {
    if (task_.bias_mode == BiasMode::kOffsets && !problem_.bias->is_small()) {
      bias_shift_ = LargestOffsetBias();
      std::fill_n(shifts_, kBlock, bias_shift_);
    } else if (AddedTerms::CanBeLarge(problem_,
                                      task_.bias_mode == BiasMode::kGeneral)) {
      const AddedTerms terms(problem_, task_.b, task_.h,
                             task_.bias_mode == BiasMode::kGeneral);
      for (int64_t lane = 0; lane < query_count_; ++lane) {
        if (task_.stopper->ShouldStop()) return;
        const int64_t i = task_.first_query + lane;
        shifts_[lane] = terms.Largest(i, problem_.VisibleKeys(i));
        // Beyond this the twin's own double rounds away digits that matter.
        coarse_ |= std::abs(shifts_[lane]) > 1e9;
      }
    }
  }

  // Of the block's first query.
  double LargestOffsetBias() const {
    const double* const bias =
        task_.offset_bias + problem_.key_count - 1 + task_.first_query;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t j = visible_.first; j < visible_.last; ++j) {
      largest = std::max(largest, bias[-j]);
    }
    return std::isfinite(largest) ? largest : 0;
  }

  // scores_: [tile.count, kBlock], -inf where hidden.
  void ComputeScores(const Tile& tile) {
    WithVectors(lanes_ / Lanes<T>(), [&](auto vectors) HWY_ATTR {
      MultiplyKeys<decltype(vectors)::value>(tile);
    });
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

  template <int kCount>
  void MultiplyKeys(const Tile& tile) {
    constexpr Tag<T> d;
    for (int64_t j = 0; j < tile.count; j += kGroup) {
      RankOneUpdates<T, kCount>(
          queries_, task_.head.keys + (tile.first + j) * problem_.dim,
          problem_.dim, [](int, int) HWY_ATTR { return hn::Zero(Tag<T>()); },
          [&](int g, int v, Vector<T> sum) HWY_ATTR {
            hn::Store(sum, d, scores_ + (j + g) * kBlock + v * Lanes<T>());
          });
    }
  }

  void CapScores(const Tile& tile) {
    constexpr Tag<T> d;
    const auto cap = hn::Set(d, static_cast<T>(problem_.softcap * kLog2E));
    ForEachScore(tile, [&](T* place, int64_t, int64_t) HWY_ATTR {
      hn::Store(hn::Mul(cap, hn::Tanh(d, hn::Load(d, place))), d, place);
    });
  }

  // body(place, key within the tile, first lane), a vector at a time.
  template <typename Body>
  void ForEachScore(const Tile& tile, const Body& body) {
    for (int64_t j = 0; j < tile.count; ++j) {
      for (int64_t lane = 0; lane < lanes_; lane += Lanes<T>()) {
        body(scores_ + j * kBlock + lane, j, lane);
      }
    }
  }

  // Where the bias of query lane and key tile.first + j stands, at lane - j;
  // null if it comes in another way.
  const T* Diagonal(const Tile& tile) {
    if (task_.bias_mode != BiasMode::kOffsets) return nullptr;
    const double* const from = task_.offset_bias + (problem_.key_count - 1) +
                               (task_.first_query - tile.first) -
                               (tile.count - 1);
    for (int64_t n = 0; n < tile.count - 1 + lanes_; ++n) {
      diagonal_[n] = static_cast<T>((from[n] - bias_shift_) * kLog2E);
    }
    return diagonal_ + tile.count - 1;
  }

  void AddDiagonal(const Tile& tile, const T* diagonal) {
    constexpr Tag<T> d;
    ForEachScore(tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
      const auto bias = hn::LoadU(d, diagonal + lane - j);
      hn::Store(hn::Add(hn::Load(d, place), bias), d, place);
    });
  }

  // added_: [tile.count, kBlock], relative to the shifts, in units of log2.
  void FillAdded(const Tile& tile) {
    if (HasBoolMask() && task_.bias_mode != BiasMode::kGeneral) {
      return FillHidden(tile);
    }
    const AddedTerms terms(problem_, task_.b, task_.h,
                           task_.bias_mode == BiasMode::kGeneral);
    double values[kTileKeys];
    T relative[kTileKeys];
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      if (lane < query_count_) {
        terms.Row(task_.first_query + lane, tile.first, tile.count, values);
        RelativeTerms<T>(values, tile.count, shifts_[lane], relative);
      } else {
        std::fill_n(relative, tile.count, T(0));
      }
      for (int64_t j = 0; j < tile.count; ++j) {
        added_[j * kBlock + lane] = relative[j];
      }
      if (!coarse_ || lane >= query_count_) continue;
      for (int64_t j = 0; j < tile.count; ++j) {
        RoundLikeDouble(values[j], &scores_[j * kBlock + lane]);
      }
    }
  }

  // The same where only a mask of bools is added.
  void FillHidden(const Tile& tile) {
    constexpr T kHidden = -std::numeric_limits<T>::infinity();
    std::fill_n(added_, tile.count * kBlock, T(0));
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      const char* const row = MaskRow(lane, tile.first);
      for (int64_t j = 0; j < tile.count; ++j) {
        added_[j * kBlock + lane] = row[j] != 0 ? T(0) : kHidden;
      }
    }
  }

  // Next to a huge shift, scores keep only the digits that double leaves them.
  static void RoundLikeDouble(double value, T* score) {
    if (!std::isfinite(value)) return;
    *score = static_cast<T>(((*score * kLn2 + value) - value) * kLog2E);
  }

  // -inf hides whatever the score is, NaN included.
  void AddAdded(const Tile& tile) {
    constexpr Tag<T> d;
    const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
    ForEachScore(tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
      const auto added = hn::Load(d, added_ + j * kBlock + lane);
      const auto sum = hn::Add(hn::Load(d, place), added);
      hn::Store(hn::IfThenElse(hn::Eq(added, hidden), hidden, sum), d, place);
    });
  }

  // Hides the keys outside each query's interval. Indices relative to the tile
  // are small and exact in T.
  void HideOutside(const Tile& tile) {
    constexpr Tag<T> d;
    for (int64_t lane = 0; lane < lanes_; ++lane) {
      const KeyInterval visible = problem_.VisibleKeys(
          task_.first_query + std::min(lane, query_count_ - 1));
      first_[lane] = static_cast<T>(
          std::clamp<int64_t>(visible.first - tile.first, 0, tile.count));
      last_[lane] = static_cast<T>(
          std::clamp<int64_t>(visible.last - tile.first, 0, tile.count));
    }
    const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
    ForEachScore(tile, [&](T* place, int64_t j, int64_t lane) HWY_ATTR {
      const auto key = hn::Set(d, static_cast<T>(j));
      const auto visible = hn::And(hn::Ge(key, hn::Load(d, first_ + lane)),
                                   hn::Lt(key, hn::Load(d, last_ + lane)));
      hn::Store(hn::IfThenElse(visible, hn::Load(d, place), hidden), d, place);
    });
  }

  // output_: [Dv, kBlock] += probabilities times values.
  void AccumulateValues(const Tile& tile) {
    WithVectors(lanes_ / Lanes<T>(), [&](auto vectors) HWY_ATTR {
      MultiplyValues<decltype(vectors)::value>(tile);
    });
  }

  template <int kCount>
  void MultiplyValues(const Tile& tile) {
    constexpr Tag<T> d;
    const int64_t start = tile.index * kTileKeys;
    const int64_t stride =
        std::min(kTileKeys, problem_.key_count - start) * kGroup;
    const T* values =
        task_.head.values + start * columns_ + (tile.first - start) * kGroup;
    for (int64_t c = 0; c < columns_; c += kGroup, values += stride) {
      const auto place = [&](int g, int v) HWY_ATTR {
        return output_ + (c + g) * kBlock + v * Lanes<T>();
      };
      RankOneUpdates<T, kCount>(
          scores_, values, tile.count,
          [&](int g, int v) HWY_ATTR { return hn::Load(d, place(g, v)); },
          [&](int g, int v, Vector<T> sum)
              HWY_ATTR { hn::Store(sum, d, place(g, v)); });
    }
  }

  // NaN and infinite values, which the packed ones leave out, reach exactly
  // the queries that see their key.
  void AddIrregularValues(const Tile& tile) {
    T* const row = rows_[0];
    for (int64_t j = 0; j < tile.count; ++j) {
      const TensorView& v = problem_.inputs.v;
      const int64_t element =
          problem_.ValueRow(task_.b, problem_.KeyHead(task_.h), tile.first + j);
      ReadRow(v.dtype, v.at(element), problem_.value_dim, row);
      for (int64_t c = 0; c < problem_.value_dim; ++c) {
        if (std::isfinite(row[c])) continue;
        for (int64_t lane = 0; lane < lanes_; ++lane) {
          const int64_t n = j * kBlock + lane;
          if (seen_[n] == -std::numeric_limits<T>::infinity()) continue;
          output_[c * kBlock + lane] += scores_[n] * row[c];
        }
      }
    }
  }

  // 1 / sum, or 0 for a query that saw nothing.
  T Normalizer(int64_t lane) const {
    return running_.sum[lane] == 0 ? T(0) : T(1) / running_.sum[lane];
  }

  void WriteOutput() {
    for (int64_t lane = 0; lane < query_count_; lane += kGroup) {
      T factors[kGroup];
      const int64_t count = std::min(kGroup, query_count_ - lane);
      for (int64_t r = 0; r < kGroup; ++r) {
        factors[r] = r < count ? Normalizer(lane + r) : T(0);
      }
      CopyFours<T>(output_ + lane, kBlock, columns_, fours_, kGroup,
                   std::min(kGroup, kBlock - lane));
      const auto place = [&](int64_t r) {
        return task_.out->output.at(
            problem_.OutputRow(task_.b, task_.h, task_.first_query + lane + r));
      };
      T* rows[kGroup];
      for (int64_t r = 0; r < kGroup; ++r) {
        const bool as_it_is =
            r < count && IsArrayOf<T>(problem_.dtype, place(r));
        rows[r] = as_it_is ? reinterpret_cast<T*>(place(r)) : rows_[r];
      }
      Deinterleave<T>(fours_, problem_.value_dim, factors, rows);
      for (int64_t r = 0; r < count; ++r) {
        if (rows[r] != rows_[r]) continue;
        WriteRow(problem_.dtype, rows_[r], problem_.value_dim, place(r));
      }
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
    ForEachScore(tile, [&](T* place, int64_t, int64_t lane) HWY_ATTR {
      const auto max = hn::Load(d, running_.max + lane);
      const auto reference = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
      const auto score = hn::Load(d, place);
      const auto weight = hn::Div(Exp2<T>(hn::Sub(score, reference)),
                                  hn::Load(d, running_.sum + lane));
      // Not seen is 0, even of a query that has seen nothing, or a NaN.
      hn::Store(hn::IfThenZeroElse(hn::Eq(score, hidden), weight), d, place);
    });
    T* const row = rows_[0];
    for (int64_t lane = 0; lane < query_count_; ++lane) {
      for (int64_t j = 0; j < tile.count; ++j) {
        row[j] = scores_[j * kBlock + lane];
      }
      const int64_t query =
          problem_.QueryIndex(task_.b, task_.h, task_.first_query + lane);
      WriteRow(problem_.wide_dtype, row, tile.count,
               task_.out->weights->at(query * problem_.key_count + tile.first));
    }
  }

  const BlockTask<T>& task_;
  const AttentionProblem& problem_;
  const int64_t query_count_;
  const int64_t lanes_;    // query_count_ in whole vectors
  const int64_t columns_;  // value_dim in whole groups
  KeyInterval visible_;    // seen by any query of the block
  KeyInterval inner_;      // seen by every query of the block
  int64_t tiles_since_check_ = 0;
  double shifts_[kBlock] = {};  // what a query's scores are relative to
  double bias_shift_ = 0;       // the part of it that the offsets' bias is
  bool coarse_ = false;      // whether a shift is so large that digits are lost
  bool has_maxima_ = false;  // whether every query has a finite one
  T* queries_;
  T* scores_;
  T* added_;
  T* seen_;
  T* output_;
  T* diagonal_;
  T* norms_;
  T* first_;
  T* last_;
  T* rows_[kGroup];
  T* fours_;
  RunningSoftmax<T> running_;
};

int64_t BlockQueriesF32() { return BlockQueries<float>(); }
int64_t BlockQueriesF64() { return BlockQueries<double>(); }
void AttendBlockF32(const BlockTask<float>& task) {
  const FlushDenormals flush;
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
