// Attention in tiles: packs the keys and values of a few heads at a time, then
// hands out blocks of queries to the threads. Which thread computes a block
// does not matter to its result, and nothing here depends on their number.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/attention/problem.h"
#include "core/attention/scratch.h"
#include "core/attention/tile.h"
#include "core/base/aligned_buffer.h"
#include "core/base/stopper.h"

namespace locus {
namespace {

// Heads are packed together as long as they fit into this.
constexpr int64_t kWaveBytes = int64_t{32} << 20;
// No instruction set has longer blocks.
constexpr int64_t kMaxBlockQueries = 64;

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
      SizeOf(problem.wide_dtype);
  const int64_t all = problem.batch_count * problem.key_head_count;
  return std::clamp<int64_t>(kWaveBytes / std::max<int64_t>(head_bytes, 1), 1,
                             std::max<int64_t>(all, 1));
}

BiasMode ChooseBiasMode(const AttentionProblem& problem) {
  if (problem.bias == nullptr) return BiasMode::kNone;
  if (!problem.bias->depends_on_offset_alone() ||
      !problem.query_positions.is_range() ||
      !problem.key_positions.is_range()) {
    return BiasMode::kGeneral;
  }
  if (problem.bias->is_small()) return BiasMode::kTable;
  // Queries of a block share what the diagonal is relative to; that is exact
  // enough if the bias changes little over a block, and if no mask hides the
  // keys that it is relative to.
  const bool gentle = problem.bias->steepness() * kMaxBlockQueries <= 64;
  return gentle && !problem.mask ? BiasMode::kDiagonal : BiasMode::kGeneral;
}

int64_t BiasTableElements(const AttentionProblem& problem) {
  return problem.query_count + problem.key_count + kMaxBlockQueries;
}

// Cosines and sines of a sequence, computed once for all heads.
template <typename T>
struct Angles {
  int64_t pairs = 0;
  std::vector<T> cos;  // [positions, pairs]
  std::vector<T> sin;  // [positions, pairs]

  void Fill(const Rotation& rotation, const Positions& positions,
            ThreadPool& pool, Stopper& stopper) {
    constexpr int64_t kRows = 64;
    pairs = rotation.pair_count();
    cos.resize(positions.size() * pairs);
    sin.resize(positions.size() * pairs);
    pool.ParallelFor((positions.size() + kRows - 1) / kRows, [&](int64_t n) {
      if (stopper.ShouldStop()) return;
      const int64_t end = std::min(positions.size(), (n + 1) * kRows);
      for (int64_t i = n * kRows; i < end; ++i) {
        rotation.Angles(positions[i], &cos[i * pairs], &sin[i * pairs]);
      }
    });
  }
};

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
        bias_mode_(ChooseBiasMode(problem)) {}

  absl::Status Run() {
    const int64_t wave_heads = WaveHeads(problem_);
    const int64_t head_count = problem_.batch_count * problem_.key_head_count;
    keys_ = AlignedBuffer<T>(wave_heads * PackedKeyElements(problem_));
    values_ = AlignedBuffer<T>(wave_heads * PackedValueElements(problem_));
    irregular_.reset(new bool[wave_heads * TileCount(problem_) + 1]);
    if (bias_mode_ == BiasMode::kTable) FillBiasTable();
    if (problem_.rotation) {
      query_angles_.Fill(*problem_.rotation, problem_.query_positions, pool_,
                         stopper_);
      key_angles_.Fill(*problem_.rotation, problem_.key_positions, pool_,
                       stopper_);
    }
    for (int64_t first = 0; first < head_count; first += wave_heads) {
      const int64_t count = std::min(wave_heads, head_count - first);
      PackWave(first, count);
      AttendWave(first, count);
      if (stopper_.ShouldStop()) return stopper_.status();
    }
    return stopper_.status();
  }

 private:
  // Bias of every head and offset, in units of log2.
  void FillBiasTable() {
    const int64_t size = BiasTableElements(problem_);
    bias_table_.assign(problem_.query_head_count * size, T(0));
    const int64_t query = problem_.query_positions[0];
    const int64_t key = problem_.key_count > 0 ? problem_.key_positions[0] : 0;
    const int64_t offsets = problem_.query_count + problem_.key_count - 1;
    pool_.ParallelFor(problem_.query_head_count, [&](int64_t h) {
      if (stopper_.ShouldStop()) return;
      for (int64_t n = 0; n < offsets; ++n) {
        const int64_t offset = n - (problem_.key_count - 1);
        const double bias =
            problem_.bias->At(h, query + std::max<int64_t>(offset, 0),
                              key - std::min<int64_t>(offset, 0));
        bias_table_[h * size + n] = static_cast<T>(bias * kLog2E);
      }
    });
  }

  void PackWave(int64_t first_head, int64_t head_count) {
    const int64_t tiles = TileCount(problem_);
    pool_.ParallelFor(head_count * tiles, [&](int64_t item) {
      if (stopper_.ShouldStop()) return;
      const int64_t slot = item / tiles;
      const int64_t first_key = item % tiles * kTileKeys;
      const int64_t count = std::min(kTileKeys, problem_.key_count - first_key);
      PackKeys(first_head + slot, slot, first_key, count);
      irregular_[slot * tiles + item % tiles] =
          PackValues(first_head + slot, slot, first_key, count);
      TrimThreadScratch();
    });
  }

  void PackKeys(int64_t head, int64_t slot, int64_t first, int64_t count) {
    const int64_t dim = problem_.dim;
    T* const row = reinterpret_cast<T*>(
        ThreadScratch(dim * static_cast<int64_t>(sizeof(T))));
    T* const packed =
        keys_.get() + slot * PackedKeyElements(problem_) + first * dim;
    for (int64_t n = 0; n < RoundUp(count, kGroup); ++n) {
      if (n < count) {
        const int64_t j = first + n;
        ReadRow(problem_.dtype,
                problem_.inputs.k.at(problem_.KeyRow(0, head, j)), dim, row);
        if (problem_.rotation) {
          const int64_t angle = j * key_angles_.pairs;
          problem_.rotation->Apply(&key_angles_.cos[angle],
                                   &key_angles_.sin[angle], row);
        }
      } else {
        std::fill_n(row, dim, T(0));
      }
      T* const target = packed + n / kGroup * kGroup * dim + n % kGroup;
      for (int64_t c = 0; c < dim; ++c) target[c * kGroup] = row[c];
    }
  }

  // Returns whether a value was not finite.
  bool PackValues(int64_t head, int64_t slot, int64_t first, int64_t count) {
    const int64_t dim = problem_.value_dim;
    const int64_t columns = RoundUp(dim, kGroup);
    T* const row = reinterpret_cast<T*>(
        ThreadScratch(columns * static_cast<int64_t>(sizeof(T))));
    std::fill(row + dim, row + columns, T(0));
    T* const packed =
        values_.get() + slot * PackedValueElements(problem_) + first * columns;
    bool irregular = false;
    for (int64_t n = 0; n < count; ++n) {
      ReadRow(problem_.dtype,
              problem_.inputs.v.at(problem_.ValueRow(0, head, first + n)), dim,
              row);
      for (int64_t c = 0; c < dim; ++c) {
        if (std::isfinite(row[c])) continue;
        irregular = true;
        row[c] = 0;
      }
      for (int64_t c = 0; c < columns; ++c) {
        packed[(c / kGroup * count + n) * kGroup + c % kGroup] = row[c];
      }
    }
    return irregular;
  }

  void AttendWave(int64_t first_head, int64_t head_count) {
    const int64_t group = problem_.query_head_count / problem_.key_head_count;
    const int64_t per_head = group * block_count_;
    pool_.ParallelFor(head_count * per_head, [&](int64_t item) {
      if (stopper_.ShouldStop()) return;
      const int64_t slot = item / per_head;
      const int64_t key_head = first_head + slot;  // of all batches
      const int64_t h = key_head % problem_.key_head_count * group +
                        item % per_head / block_count_;
      // Later queries of a causal call see more keys: the longest go first.
      const int64_t block = block_count_ - 1 - item % block_count_;
      BlockTask<T> task;
      task.problem = &problem_;
      task.b = key_head / problem_.key_head_count;
      task.h = h;
      task.first_query = block * block_queries_;
      task.head = {keys_.get() + slot * PackedKeyElements(problem_),
                   values_.get() + slot * PackedValueElements(problem_),
                   irregular_.get() + slot * TileCount(problem_)};
      task.query_cos = query_angles_.cos.data();
      task.query_sin = query_angles_.sin.data();
      task.bias_mode = bias_mode_;
      if (bias_mode_ == BiasMode::kTable) {
        task.bias_table = bias_table_.data() + h * BiasTableElements(problem_);
      }
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
  const BiasMode bias_mode_;
  AlignedBuffer<T> keys_;
  AlignedBuffer<T> values_;
  std::unique_ptr<bool[]> irregular_;
  std::vector<T> bias_table_;
  Angles<T> query_angles_;
  Angles<T> key_angles_;
};

}  // namespace

int64_t BlockScratchBytes(const AttentionProblem& problem) {
  // The pieces of one block, each with room for its alignment.
  constexpr int64_t kPieces = 16;
  const int64_t columns = RoundUp(problem.value_dim, kGroup);
  const int64_t rows = problem.dim + 3 * kTileKeys + columns + 8;
  const int64_t elements = rows * kMaxBlockQueries + kTileKeys +
                           std::max({problem.dim, columns, kTileKeys});
  return elements * SizeOf(problem.wide_dtype) +
         kPieces * AlignedBuffer<char>::kAlignment;
}

int64_t TiledScratchBytes(const AttentionProblem& problem, int thread_count) {
  if (problem.batch_count == 0 || problem.query_count == 0) return 0;
  const int64_t element = SizeOf(problem.wide_dtype);
  const int64_t blocks = problem.batch_count * problem.query_head_count *
                         (problem.query_count / (kMaxBlockQueries / 8) + 1);
  int64_t bytes = WaveHeads(problem) *
                  (PackedKeyElements(problem) + PackedValueElements(problem)) *
                  element;
  if (ChooseBiasMode(problem) == BiasMode::kTable) {
    bytes += problem.query_head_count * BiasTableElements(problem) * element;
  }
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
  if (problem.wide_dtype == DType::kFloat64) {
    return TiledAttention<double>(problem, pool, stop, out).Run();
  }
  return TiledAttention<float>(problem, pool, stop, out).Run();
}

}  // namespace locus
