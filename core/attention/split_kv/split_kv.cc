#include "core/attention/split_kv/split_kv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/attention/tiled/call_angles.h"
#include "core/attention/tiled/tile.h"
#include "core/base/status.h"
#include "core/simd/aligned_buffer.h"

namespace locus {
namespace {

// Maximum number of queries per key head. With more queries, the tiled kernel
// is faster.
constexpr int64_t kMaxRows = 8;

// Number of queries that share a key head.
int64_t RowsPerHead(const AttentionProblem& problem) {
  return problem.query_head_count / problem.key_head_count *
         problem.query_count;
}

int64_t ChunkCount(const AttentionProblem& problem) {
  return (problem.key_count + kChunkKeys - 1) / kChunkKeys;
}

// One call of AttendSplitKv() in type T. A row is one query of one query head.
template <typename T>
class SplitKv {
 public:
  SplitKv(const AttentionProblem& problem, ThreadPool& pool,
          const CancellationCheck& stop, AttentionOutputs& out)
      : problem_(problem),
        pool_(pool),
        cancellation_(stop),
        out_(out),
        rows_per_head_(RowsPerHead(problem)),
        row_count_(problem.batch_count * problem.query_head_count *
                   problem.query_count),
        chunk_count_(ChunkCount(problem)) {}

  absl::Status Run() {
    if (problem_.rotation) {
      query_angles_.Fill(*problem_.rotation, problem_.query_positions, pool_,
                         cancellation_);
      key_angles_.Fill(problem_.rotation->OfKeys(), problem_.key_positions,
                       pool_, cancellation_);
    }
    PackQueries();
    results_.resize(row_count_ * chunk_count_);
    const int64_t outputs = row_count_ * chunk_count_ * problem_.value_dim;
    outputs_ = AlignedBuffer<T>(outputs);
    std::fill_n(outputs_.get(), outputs, T(0));
    const int64_t heads = problem_.batch_count * problem_.key_head_count;
    pool_.ParallelFor(heads * chunk_count_, [this](int64_t item) {
      if (cancellation_.ShouldStop()) return;
      AttendChunk(item / chunk_count_, item % chunk_count_);
    });
    LOCUS_RETURN_IF_ERROR(cancellation_.status());
    for (int64_t row = 0; row < row_count_; ++row) Combine(row);
    return absl::OkStatus();
  }

 private:
  // Sets queries_, [B, Hq, Tq, D], to the rotated and scaled queries. The rows
  // of a key head are adjacent.
  void PackQueries() {
    const double unit = problem_.softcap > 0 ? 1 / problem_.softcap : kLog2E;
    const T factor = static_cast<T>(problem_.scale * unit);
    queries_ = AlignedBuffer<T>(row_count_ * problem_.dim);
    for (int64_t row = 0; row < row_count_; ++row) {
      T* const query = queries_.get() + row * problem_.dim;
      ReadRow(problem_.dtype, problem_.inputs.q.at(row * problem_.dim),
              problem_.dim, query);
      if (problem_.rotation) {
        const int64_t angle =
            row % problem_.query_count * problem_.rotation->pair_count();
        problem_.rotation->Apply(query_angles_.cos() + angle,
                                 query_angles_.sin() + angle, query);
      }
      for (int64_t c = 0; c < problem_.dim; ++c) query[c] *= factor;
    }
  }

  // Index of a row and a chunk in results_, [heads, chunks, rows of a head].
  int64_t ResultIndex(int64_t row, int64_t chunk) const {
    const int64_t head = row / rows_per_head_;
    return (head * chunk_count_ + chunk) * rows_per_head_ +
           row % rows_per_head_;
  }

  // Computes the partial results of all rows of a key head for one chunk.
  void AttendChunk(int64_t head, int64_t chunk) {
    ChunkTask<T> task;
    task.problem = &problem_;
    task.b = head / problem_.key_head_count;
    task.key_head = head % problem_.key_head_count;
    task.first_key = chunk * kChunkKeys;
    task.end_key = std::min(problem_.key_count, task.first_key + kChunkKeys);
    const int64_t first_row = head * rows_per_head_;
    task.queries = queries_.get() + first_row * problem_.dim;
    task.key_cos = key_angles_.cos();
    task.key_sin = key_angles_.sin();
    const int64_t first = ResultIndex(first_row, chunk);
    task.results = results_.data() + first;
    for (int64_t r = 0; r < rows_per_head_; ++r) {
      ChunkResult<T>& result = task.results[r];
      result.output = outputs_.get() + (first + r) * problem_.value_dim;
      if (out_.weights) result.weights = WeightsOf(first_row + r);
    }
    task.cancellation = &cancellation_;
    SplitKvKernel<T>::AttendChunk(task);
  }

  T* WeightsOf(int64_t row) const {
    return reinterpret_cast<T*>(out_.weights->at(row * problem_.key_count));
  }

  // Merges the partial results of a row by log-sum-exp, in the order of the
  // chunks, and writes the output.
  void Combine(int64_t row) {
    double max = -std::numeric_limits<double>::infinity();
    for (int64_t n = 0; n < chunk_count_; ++n) {
      const ChunkResult<T>& result = results_[ResultIndex(row, n)];
      if (result.sum != 0) max = std::max(max, result.max);
    }
    double sum = 0;
    std::vector<T> output(problem_.value_dim, T(0));
    for (int64_t n = 0; n < chunk_count_; ++n) {
      ChunkResult<T>& result = results_[ResultIndex(row, n)];
      if (result.sum == 0) continue;  // no visible keys
      result.max = std::exp2(result.max - max);
      sum += result.sum * result.max;
      for (int64_t c = 0; c < problem_.value_dim; ++c) {
        output[c] += result.output[c] * static_cast<T>(result.max);
      }
    }
    if (sum != 0) {
      for (T& value : output) value = static_cast<T>(value / sum);
    }
    WriteRow(problem_.dtype, output.data(), problem_.value_dim,
             out_.output.at(row * problem_.value_dim));
    if (out_.log_sum_exp) {
      const double value = max * kLn2 + std::log(sum);
      WriteRow(problem_.wide_dtype, &value, 1, out_.log_sum_exp->at(row));
    }
    if (out_.weights) NormalizeWeights(row, sum);
  }

  // Divides the weights of a row by its sum. Requires that Combine() has
  // replaced the maxima of the results by correction factors.
  void NormalizeWeights(int64_t row, double sum) const {
    T* const weights = WeightsOf(row);
    const KeyInterval visible =
        problem_.VisibleKeys(row % problem_.query_count);
    for (int64_t j = visible.begin; j < visible.end; ++j) {
      const ChunkResult<T>& result = results_[ResultIndex(row, j / kChunkKeys)];
      weights[j] = result.sum == 0
                       ? T(0)
                       : static_cast<T>(weights[j] * result.max / sum);
    }
  }

  const AttentionProblem& problem_;
  ThreadPool& pool_;
  CancellationState cancellation_;
  AttentionOutputs& out_;
  const int64_t rows_per_head_;
  const int64_t row_count_;
  const int64_t chunk_count_;
  AlignedBuffer<T> queries_;
  AlignedBuffer<T> outputs_;  // [heads, chunks, rows of a head, Dv]
  std::vector<ChunkResult<T>> results_;
  CallAngles<T> query_angles_;
  CallAngles<T> key_angles_;
};

}  // namespace

bool ShouldSplitKv(const AttentionProblem& problem) {
  // The kernel stores weights in the output, so the types must be the same.
  if (problem.return_weights && problem.kernel_dtype != problem.wide_dtype) {
    return false;
  }
  return RowsPerHead(problem) <= kMaxRows;
}

int64_t ChunkScratchBytes(const AttentionProblem& problem) {
  const int64_t elements =
      kTileKeys * std::max(problem.dim, problem.value_dim) +
      (RowsPerHead(problem) + 2) * kChunkKeys;
  return elements * SizeOf(problem.kernel_dtype) +
         2 * kChunkKeys * static_cast<int64_t>(sizeof(double)) +
         8 * AlignedBuffer<char>::kAlignment;
}

int64_t SplitKvScratchBytes(const AttentionProblem& problem, int thread_count) {
  const int64_t element = SizeOf(problem.kernel_dtype);
  const int64_t rows =
      problem.batch_count * problem.query_head_count * problem.query_count;
  int64_t bytes = rows * problem.dim * element +
                  rows * ChunkCount(problem) *
                      (problem.value_dim * element +
                       static_cast<int64_t>(sizeof(ChunkResult<double>)));
  if (problem.rotation) {
    bytes += (problem.query_count + problem.key_count) *
             problem.rotation->pair_count() * 2 * element;
  }
  return bytes + thread_count * ChunkScratchBytes(problem);
}

absl::Status AttendSplitKv(const AttentionProblem& problem, ThreadPool& pool,
                           const CancellationCheck& stop,
                           AttentionOutputs& out) {
  if (problem.kernel_dtype == DType::kFloat64) {
    return SplitKv<double>(problem, pool, stop, out).Run();
  }
  return SplitKv<float>(problem, pool, stop, out).Run();
}

}  // namespace locus
