// Attention in tiles: packs the keys and values of a few heads at a time, then
// hands out blocks of queries to the threads. Which thread computes a block
// does not matter to its result, and nothing here depends on their number.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/attention/tiled/call_angles.h"
#include "core/attention/split_kv/split_kv.h"
#include "core/attention/problem.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile.h"
#include "core/simd/aligned_buffer.h"
#include "core/base/positions.h"
#include "core/base/shape.h"
#include "core/parallel/stopper.h"

namespace locus {
namespace {

// Lists of ids may leave out so many positions for each that they hold, and
// still have a table of biases.
constexpr int64_t kSparsity = 4;
// Heads are packed together as long as they fit into this.
constexpr int64_t kWaveBytes = int64_t{32} << 20;

int64_t TileCount(const AttentionProblem& problem) {
  return (problem.key_count + kTileKeys - 1) / kTileKeys;
}

// Elements of one packed head.
int64_t PackedKeyElements(const AttentionProblem& problem) {
  return RoundUp(problem.key_count, kGroup) * problem.dim;
}
int64_t PackedValueElements(const AttentionProblem& problem) {
  return problem.key_count * RoundUp(problem.value_dim, kGroup);
}

// How many key heads are packed at the same time.
int64_t WaveHeads(const AttentionProblem& problem) {
  const int64_t head_bytes =
      (PackedKeyElements(problem) + PackedValueElements(problem)) *
      SizeOf(problem.kernel_dtype);
  const int64_t all = problem.batch_count * problem.key_head_count;
  return std::clamp<int64_t>(kWaveBytes / std::max<int64_t>(head_bytes, 1), 1,
                             std::max<int64_t>(all, 1));
}

int64_t WaveQueryHeads(const AttentionProblem& problem) {
  return WaveHeads(problem) *
         (problem.query_head_count / problem.key_head_count);
}

// How far the nearest key that a query sees is from it at most, for positions
// that follow one another.
int64_t FarthestNearestKey(const AttentionProblem& problem) {
  int64_t farthest = 0;
  for (int64_t i = 0; i < problem.query_count; ++i) {
    const KeyInterval visible = problem.VisibleKeys(i);
    if (visible.first >= visible.last) continue;
    const int64_t position = problem.query_positions[i];
    const int64_t before = position - problem.key_positions[visible.last - 1];
    const int64_t after = problem.key_positions[visible.first] - position;
    farthest = std::max({farthest, before, after});
  }
  return farthest;
}

BiasMode ChooseBiasMode(const AttentionProblem& problem) {
  if (problem.bias == nullptr) return BiasMode::kNone;
  if (!problem.bias->depends_on_offset_alone() ||
      !problem.query_positions.is_range() ||
      !problem.key_positions.is_range()) {
    return BiasMode::kGeneral;
  }
  if (problem.bias->is_small()) return BiasMode::kOffsets;
  // Queries of a block share what the table is relative to; that is exact
  // enough if the bias changes little over a block. Where a mask hides the keys
  // that it is relative to, a block finds out and goes the general way.
  const bool gentle =
      problem.bias->Steepness(FarthestNearestKey(problem)) * kMaxBlockQueries <=
      64;
  return gentle ? BiasMode::kOffsets : BiasMode::kGeneral;
}

// Whether the bias fades with distance, so that far tiles may not matter.
bool CanPrune(const AttentionProblem& problem) {
  return ChooseBiasMode(problem) == BiasMode::kOffsets &&
         std::isfinite(problem.bias->LogTail(0, 1, 1));
}

// The offsets, query less key, that a table of biases is made for; none where
// there is no bias, or where one number at a time costs less.
std::optional<OffsetRange> TableOffsets(const AttentionProblem& problem) {
  if (problem.bias == nullptr || !problem.bias->depends_on_offset_alone()) {
    return std::nullopt;
  }
  int64_t most = problem.query_count + problem.key_count;
  if (ChooseBiasMode(problem) == BiasMode::kGeneral) {
    most = std::min(kSparsity * most,
                    CheckedMul(problem.query_count, problem.key_count)
                        .value_or(std::numeric_limits<int64_t>::max()));
  }
  return OffsetsBetween(problem.key_positions, problem.query_positions, most);
}

// Of one head.
int64_t TableElements(const std::optional<OffsetRange>& offsets) {
  return offsets ? offsets->count + kMaxBlockQueries : 0;
}

template <typename T>
class TiledAttention {
 public:
  TiledAttention(const AttentionProblem& problem, ThreadPool& pool,
                 const StopCheck& stop, AttentionOutputs& out)
      : problem_(problem),
        pool_(pool),
        stopper_(stop),
        out_(out),
        block_queries_(TiledKernel<T>::BlockQueries()),
        block_count_((problem.query_count + block_queries_ - 1) /
                     block_queries_),
        group_(problem.query_head_count / problem.key_head_count),
        bias_mode_(ChooseBiasMode(problem)),
        prune_(CanPrune(problem)),
        offsets_(TableOffsets(problem)) {}

  absl::Status Run() {
    const int64_t wave_heads = WaveHeads(problem_);
    const int64_t head_count = problem_.batch_count * problem_.key_head_count;
    keys_ = AlignedBuffer<T>(wave_heads * PackedKeyElements(problem_));
    values_ = AlignedBuffer<T>(wave_heads * PackedValueElements(problem_));
    tiles_.resize(wave_heads * TileCount(problem_));
    offset_bias_ = AlignedBuffer<double>(WaveQueryHeads(problem_) *
                                         TableElements(offsets_));
    if (problem_.rotation) {
      query_angles_.Fill(*problem_.rotation, problem_.query_positions, pool_,
                         stopper_);
      key_angles_.Fill(problem_.rotation->OfKeys(), problem_.key_positions,
                       pool_, stopper_);
    }
    for (int64_t first = 0; first < head_count; first += wave_heads) {
      const int64_t count = std::min(wave_heads, head_count - first);
      PackWave(first, count);
      if (prune_) FindReach(count);
      AttendWave(first, count);
      if (stopper_.ShouldStop()) return stopper_.status();
    }
    return stopper_.status();
  }

 private:
  // Tiles first, then the biases of each query head.
  void PackWave(int64_t first_head, int64_t head_count) {
    const int64_t tiles = TileCount(problem_);
    const int64_t tables = offsets_ ? head_count * group_ : 0;
    pool_.ParallelFor(head_count * tiles + tables, [&](int64_t item) {
      if (stopper_.ShouldStop()) return;
      if (item >= head_count * tiles) {
        FillOffsetBias(first_head, item - head_count * tiles);
      } else {
        PackTile(first_head, item / tiles, item % tiles);
      }
    });
  }

  void PackTile(int64_t first_head, int64_t slot, int64_t tile) {
    const int64_t first = tile * kTileKeys;
    PackTask<T> task;
    task.problem = &problem_;
    task.head = first_head + slot;
    task.first = first;
    task.count = std::min(kTileKeys, problem_.key_count - first);
    task.cos = key_angles_.cos();
    task.sin = key_angles_.sin();
    task.measure = prune_;
    task.keys =
        keys_.get() + slot * PackedKeyElements(problem_) + first * problem_.dim;
    task.values = values_.get() + slot * PackedValueElements(problem_) +
                  first * RoundUp(problem_.value_dim, kGroup);
    task.facts = &tiles_[slot * TileCount(problem_) + tile];
    TiledKernel<T>::PackTile(task);
  }

  // Bias by offset of a query head of the wave.
  void FillOffsetBias(int64_t first_head, int64_t slot) {
    const int64_t h = QueryHead(first_head + slot / group_, slot % group_);
    double* const table = offset_bias_.get() + slot * TableElements(offsets_);
    const int64_t first = FirstSeenOffset();
    std::fill_n(table, first, 0.0);
    problem_.bias->Offsets(h, offsets_->lowest + first, offsets_->count - first,
                           table + first);
    std::fill_n(table + offsets_->count, kMaxBlockQueries, 0.0);
  }

  // Which entry of a table is the first that matters: those of keys that no
  // query of a causal call sees are read by whole blocks and groups alone.
  int64_t FirstSeenOffset() const {
    if (!problem_.causal || bias_mode_ != BiasMode::kOffsets) return 0;
    const int64_t place = std::clamp(problem_.query_offset,
                                     -problem_.query_count, problem_.key_count);
    return std::clamp<int64_t>(
        problem_.key_count - 1 - place - kMaxBlockQueries - kGroup, 0,
        offsets_->count);
  }

  // From what each tile reaches to what all before and behind it do.
  void FindReach(int64_t head_count) {
    const int64_t count = TileCount(problem_);
    for (int64_t slot = 0; slot < head_count; ++slot) {
      TileFacts* const tiles = tiles_.data() + slot * count;
      for (int64_t n = 0; n < count; ++n) {
        tiles[n].from_here = tiles[n].up_to_here;
      }
      for (int64_t n = 1; n < count; ++n) {
        Extend(tiles[n - 1].up_to_here, tiles[n].up_to_here);
      }
      for (int64_t n = count - 2; n >= 0; --n) {
        Extend(tiles[n + 1].from_here, tiles[n].from_here);
      }
    }
  }

  static void Extend(const Reach& from, Reach& to) {
    to.key_norm = std::max(to.key_norm, from.key_norm);
    to.value = std::max(to.value, from.value);
  }

  int64_t QueryHead(int64_t key_head, int64_t member) const {
    return key_head % problem_.key_head_count * group_ + member;
  }

  void AttendWave(int64_t first_head, int64_t head_count) {
    const int64_t per_head = group_ * block_count_;
    pool_.ParallelFor(head_count * per_head, [&](int64_t item) {
      if (stopper_.ShouldStop()) return;
      const int64_t slot = item / per_head;
      const int64_t key_head = first_head + slot;  // of all batches
      const int64_t member = item % per_head / block_count_;
      // Later queries of a causal call see more keys: the longest go first.
      const int64_t block = block_count_ - 1 - item % block_count_;
      BlockTask<T> task;
      task.problem = &problem_;
      task.b = key_head / problem_.key_head_count;
      task.h = QueryHead(key_head, member);
      task.first_query = block * block_queries_;
      task.head = {keys_.get() + slot * PackedKeyElements(problem_),
                   values_.get() + slot * PackedValueElements(problem_),
                   tiles_.data() + slot * TileCount(problem_)};
      task.query_cos = query_angles_.cos();
      task.query_sin = query_angles_.sin();
      task.bias_mode = bias_mode_;
      if (offsets_) {
        task.offset_bias = {offset_bias_.get() + (slot * group_ + member) *
                                                     TableElements(offsets_),
                            offsets_->lowest};
      }
      task.prune = prune_;
      task.out = &out_;
      task.stopper = &stopper_;
      TiledKernel<T>::AttendBlock(task);
    });
  }

  const AttentionProblem& problem_;
  ThreadPool& pool_;
  Stopper stopper_;
  AttentionOutputs& out_;
  const int64_t block_queries_;
  const int64_t block_count_;
  const int64_t group_;  // query heads of a key head
  const BiasMode bias_mode_;
  const bool prune_;
  const std::optional<OffsetRange> offsets_;
  AlignedBuffer<T> keys_;
  AlignedBuffer<T> values_;
  std::vector<TileFacts> tiles_;
  AlignedBuffer<double> offset_bias_;
  CallAngles<T> query_angles_;
  CallAngles<T> key_angles_;
};

}  // namespace

int64_t BlockScratchBytes(const AttentionProblem& problem) {
  // The pieces of one block, each with room for its alignment.
  constexpr int64_t kPieces = 18;
  const int64_t columns = RoundUp(problem.value_dim, kGroup);
  const int64_t rows = problem.dim + 3 * kTileKeys + columns + 10;
  const int64_t elements =
      rows * kMaxBlockQueries + kGroup + kTileKeys +
      kMaxLanes * std::max({problem.dim, columns, kTileKeys});
  return elements * SizeOf(problem.kernel_dtype) +
         kPieces * AlignedBuffer<char>::kAlignment;
}

int64_t TiledScratchBytes(const AttentionProblem& problem, int thread_count) {
  if (problem.batch_count == 0 || problem.query_count == 0) return 0;
  if (HasFewQueries(problem)) {
    return FewQueriesScratchBytes(problem, thread_count);
  }
  const int64_t element = SizeOf(problem.kernel_dtype);
  const int64_t blocks = problem.batch_count * problem.query_head_count *
                         (problem.query_count / (kMaxBlockQueries / 8) + 1);
  int64_t bytes =
      WaveHeads(problem) *
      ((PackedKeyElements(problem) + PackedValueElements(problem)) * element +
       TileCount(problem) * static_cast<int64_t>(sizeof(TileFacts)));
  bytes += WaveQueryHeads(problem) * TableElements(TableOffsets(problem)) *
           static_cast<int64_t>(sizeof(double));
  if (problem.rotation) {
    bytes += (problem.query_count + problem.key_count) *
             problem.rotation->pair_count() * 2 * element;
  }
  return bytes +
         std::min<int64_t>(thread_count, blocks) * BlockScratchBytes(problem);
}

absl::Status AttendTiled(const AttentionProblem& problem, ThreadPool& pool,
                         const StopCheck& stop, AttentionOutputs& out) {
  if (out.output.element_count() == 0) return absl::OkStatus();
  if (HasFewQueries(problem)) {
    return AttendFewQueries(problem, pool, stop, out);
  }
  if (problem.kernel_dtype == DType::kFloat64) {
    return TiledAttention<double>(problem, pool, stop, out).Run();
  }
  return TiledAttention<float>(problem, pool, stop, out).Run();
}

}  // namespace locus
