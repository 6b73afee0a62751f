// Driver of the tiled kernel: packs the keys and values of a few heads at a
// time, then distributes blocks of queries over the threads of the pool. The
// result of a block does not depend on the thread that computes it, nor on the
// number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/attention/problem.h"
#include "core/attention/tiled/call_angles.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile.h"
#include "core/base/positions.h"
#include "core/base/shape.h"
#include "core/parallel/cancellation.h"
#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Maximum number of entries in a table of biases per position of the call.
// Lists of positions that are sparser have no table.
constexpr int64_t kMaxTableSparsity = 4;
// Maximum size of the packed heads of one wave. A wave is a set of key heads
// that are packed and attended together; it has at least one head.
constexpr int64_t kWaveBytes = int64_t{32} << 20;

int64_t TileCount(const AttentionProblem& problem) {
  return (problem.key_count + kTileKeys - 1) / kTileKeys;
}

// Number of elements of one packed head.
int64_t PackedKeyElements(const AttentionProblem& problem) {
  return RoundUp(problem.key_count, kGroup) * problem.dim;
}
int64_t PackedValueElements(const AttentionProblem& problem) {
  return problem.key_count * RoundUp(problem.value_dim, kGroup);
}

// Number of key heads in a wave.
int64_t WaveHeads(const AttentionProblem& problem) {
  const int64_t head_bytes =
      (PackedKeyElements(problem) + PackedValueElements(problem)) *
      SizeOf(problem.kernel_dtype);
  const int64_t all = problem.batch_count * problem.key_head_count;
  return std::clamp<int64_t>(kWaveBytes / std::max<int64_t>(head_bytes, 1), 1,
                             std::max<int64_t>(all, 1));
}

// Number of query heads that belong to the key heads of a wave.
int64_t WaveQueryHeads(const AttentionProblem& problem) {
  return WaveHeads(problem) *
         (problem.query_head_count / problem.key_head_count);
}

// The maximum distance between a query and its nearest visible key. Requires
// consecutive positions.
int64_t MaxNearestKeyDistance(const AttentionProblem& problem) {
  int64_t max_distance = 0;
  for (int64_t i = 0; i < problem.query_count; ++i) {
    const KeyInterval visible = problem.VisibleKeys(i);
    if (visible.empty()) continue;
    const int64_t position = problem.query_positions[i];
    const int64_t before = position - problem.key_positions[visible.end - 1];
    const int64_t after = problem.key_positions[visible.begin] - position;
    max_distance = std::max({max_distance, before, after});
  }
  return max_distance;
}

BiasMode ChooseBiasMode(const AttentionProblem& problem) {
  if (problem.bias == nullptr) return BiasMode::kNone;
  if (!problem.bias->depends_on_offset_alone() ||
      !problem.query_positions.is_range() ||
      !problem.key_positions.is_range()) {
    return BiasMode::kGeneral;
  }
  if (problem.bias->is_bounded()) return BiasMode::kOffsets;
  // The queries of a block share one bias reference, which is precise enough if
  // the bias changes little within a block. A block whose mask hides the keys
  // near the reference detects this and falls back to BiasMode::kGeneral.
  const bool is_gradual =
      problem.bias->Steepness(MaxNearestKeyDistance(problem)) *
          kMaxBlockQueries <=
      64;
  return is_gradual ? BiasMode::kOffsets : BiasMode::kGeneral;
}

// Whether the bias decays with distance, so that far tiles may be skipped.
bool CanPrune(const AttentionProblem& problem) {
  return ChooseBiasMode(problem) == BiasMode::kOffsets &&
         std::isfinite(problem.bias->LogTail(0, 1, 1));
}

// The offsets (query position - key position) that a table of biases covers.
// There is no table without a bias that depends on the offset only, or if
// computing single elements is cheaper.
std::optional<OffsetRange> TableOffsets(const AttentionProblem& problem) {
  if (problem.bias == nullptr || !problem.bias->depends_on_offset_alone()) {
    return std::nullopt;
  }
  int64_t max_count = problem.query_count + problem.key_count;
  if (ChooseBiasMode(problem) == BiasMode::kGeneral) {
    max_count = std::min(kMaxTableSparsity * max_count,
                         CheckedMul(problem.query_count, problem.key_count)
                             .value_or(std::numeric_limits<int64_t>::max()));
  }
  return OffsetsBetween(problem.key_positions, problem.query_positions,
                        max_count);
}

// Number of elements in the table of biases of one head, padding included.
int64_t TableElements(const std::optional<OffsetRange>& offsets) {
  return offsets ? offsets->count + kMaxBlockQueries : 0;
}

// One call of AttendTiled() in type T.
template <typename T>
class TiledAttention {
 public:
  TiledAttention(const AttentionProblem& problem, ThreadPool& pool,
                 const CancellationCheck& stop, AttentionOutputs& out)
      : problem_(problem),
        pool_(pool),
        cancellation_(stop),
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
                         cancellation_);
      key_angles_.Fill(problem_.rotation->OfKeys(), problem_.key_positions,
                       pool_, cancellation_);
    }
    for (int64_t first = 0; first < head_count; first += wave_heads) {
      const int64_t count = std::min(wave_heads, head_count - first);
      PackWave(first, count);
      if (prune_) AccumulateNormBounds(count);
      AttendWave(first, count);
      if (cancellation_.ShouldStop()) return cancellation_.status();
    }
    return cancellation_.status();
  }

 private:
  // Packs the tiles of a wave and computes its tables of biases.
  void PackWave(int64_t first_head, int64_t head_count) {
    const int64_t tiles = TileCount(problem_);
    const int64_t tables = offsets_ ? head_count * group_ : 0;
    pool_.ParallelFor(head_count * tiles + tables, [&](int64_t item) {
      if (cancellation_.ShouldStop()) return;
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
    task.compute_bound = prune_;
    task.keys =
        keys_.get() + slot * PackedKeyElements(problem_) + first * problem_.dim;
    task.values = values_.get() + slot * PackedValueElements(problem_) +
                  first * RoundUp(problem_.value_dim, kGroup);
    task.info = &tiles_[slot * TileCount(problem_) + tile];
    TiledKernel<T>::PackTile(task);
  }

  // Computes the table of biases of a query head of the wave.
  void FillOffsetBias(int64_t first_head, int64_t slot) {
    const int64_t h = QueryHead(first_head + slot / group_, slot % group_);
    double* const table = offset_bias_.get() + slot * TableElements(offsets_);
    const int64_t first = FirstUsedOffset();
    std::fill_n(table, first, 0.0);
    problem_.bias->Offsets(h, offsets_->lowest + first, offsets_->count - first,
                           table + first);
    std::fill_n(table + offsets_->count, kMaxBlockQueries, 0.0);
  }

  // Index of the first entry of a table that affects the result. In a causal
  // call, lower entries belong to hidden keys; they are read as padding of
  // blocks and groups only, and need not be computed.
  int64_t FirstUsedOffset() const {
    if (!problem_.causal || bias_mode_ != BiasMode::kOffsets) return 0;
    const int64_t offset = std::clamp(
        problem_.query_offset, -problem_.query_count, problem_.key_count);
    return std::clamp<int64_t>(
        problem_.key_count - 1 - offset - kMaxBlockQueries - kGroup, 0,
        offsets_->count);
  }

  // Turns the bounds of single tiles into bounds of each tile and all tiles
  // before it, and of each tile and all tiles after it.
  void AccumulateNormBounds(int64_t head_count) {
    const int64_t count = TileCount(problem_);
    for (int64_t slot = 0; slot < head_count; ++slot) {
      TileInfo* const tiles = tiles_.data() + slot * count;
      for (int64_t n = 0; n < count; ++n) {
        tiles[n].suffix_bound = tiles[n].prefix_bound;
      }
      for (int64_t n = 1; n < count; ++n) {
        MergeBound(tiles[n - 1].prefix_bound, tiles[n].prefix_bound);
      }
      for (int64_t n = count - 2; n >= 0; --n) {
        MergeBound(tiles[n + 1].suffix_bound, tiles[n].suffix_bound);
      }
    }
  }

  static void MergeBound(const NormBound& from, NormBound& to) {
    to.max_key_norm = std::max(to.max_key_norm, from.max_key_norm);
    to.max_abs_value = std::max(to.max_abs_value, from.max_abs_value);
  }

  // The query head of a key head (counted over all batches) and a member of its
  // group.
  int64_t QueryHead(int64_t key_head, int64_t member) const {
    return key_head % problem_.key_head_count * group_ + member;
  }

  void AttendWave(int64_t first_head, int64_t head_count) {
    const int64_t per_head = group_ * block_count_;
    pool_.ParallelFor(head_count * per_head, [&](int64_t item) {
      if (cancellation_.ShouldStop()) return;
      const int64_t slot = item / per_head;
      const int64_t key_head = first_head + slot;  // over all batches
      const int64_t member = item % per_head / block_count_;
      // The last queries of a causal call see the most keys. Starting with them
      // balances the load of the threads.
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
      task.cancellation = &cancellation_;
      TiledKernel<T>::AttendBlock(task);
    });
  }

  const AttentionProblem& problem_;
  ThreadPool& pool_;
  CancellationState cancellation_;
  AttentionOutputs& out_;
  const int64_t block_queries_;
  const int64_t block_count_;
  const int64_t group_;  // query heads per key head
  const BiasMode bias_mode_;
  const bool prune_;
  const std::optional<OffsetRange> offsets_;
  AlignedBuffer<T> keys_;
  AlignedBuffer<T> values_;
  std::vector<TileInfo> tiles_;
  AlignedBuffer<double> offset_bias_;
  CallAngles<T> query_angles_;
  CallAngles<T> key_angles_;
};

}  // namespace

int64_t BlockScratchBytes(const AttentionProblem& problem) {
  // Upper bound of the arrays of a Block, which may need padding for alignment.
  constexpr int64_t kArrays = 18;
  const int64_t columns = RoundUp(problem.value_dim, kGroup);
  const int64_t rows = problem.dim + 3 * kTileKeys + columns + 10;
  const int64_t elements =
      rows * kMaxBlockQueries + kGroup + kTileKeys +
      kMaxLanes * std::max({problem.dim, columns, kTileKeys});
  return elements * SizeOf(problem.kernel_dtype) +
         kArrays * AlignedBuffer<char>::kAlignment;
}

int64_t TiledScratchBytes(const AttentionProblem& problem, int thread_count) {
  const int64_t element = SizeOf(problem.kernel_dtype);
  const int64_t blocks = problem.batch_count * problem.query_head_count *
                         (problem.query_count / (kMaxBlockQueries / 8) + 1);
  int64_t bytes =
      WaveHeads(problem) *
      ((PackedKeyElements(problem) + PackedValueElements(problem)) * element +
       TileCount(problem) * static_cast<int64_t>(sizeof(TileInfo)));
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
                         const CancellationCheck& stop, AttentionOutputs& out) {
  if (problem.kernel_dtype == DType::kFloat64) {
    return TiledAttention<double>(problem, pool, stop, out).Run();
  }
  return TiledAttention<float>(problem, pool, stop, out).Run();
}

}  // namespace locus
