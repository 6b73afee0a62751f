// Attention of a handful of queries, as in decoding: the keys and values are
// read once, where they lie, and time is what reading them takes.
//
// The queries that share a key head go together. Keys are split into chunks of
// a fixed size, so that threads have something to share and results do not
// depend on their number; what the chunks yield is combined in their order.
#pragma once

#include <cstdint>

#include "core/attention/problem.h"
#include "core/parallel/stopper.h"

namespace locus {

// Keys in one chunk.
inline constexpr int64_t kChunkKeys = 4096;

// What one chunk of keys is to one query.
template <typename T>
struct ChunkResult {
  // What `sum` and `output` are relative to, in units of log2.
  double max = 0;
  double sum = 0;
  T* output = nullptr;   // [Dv], not divided by the sum
  T* weights = nullptr;  // [Tk], where weights are returned; not divided
};

// The queries of one key head against one chunk of its keys.
template <typename T>
struct ChunkTask {
  const AttentionProblem* problem = nullptr;
  int64_t b = 0;
  int64_t key_head = 0;
  int64_t first_key = 0;
  int64_t last_key = 0;
  // [rows, D], rotated, and multiplied by what scores are multiplied by; row
  // m * Tq + i is query i of the m-th head of the key head's group.
  const T* queries = nullptr;
  // [Tk, pairs], if there is a rotation.
  const T* key_cos = nullptr;
  const T* key_sin = nullptr;
  ChunkResult<T>* results = nullptr;  // [rows]
  Stopper* stopper = nullptr;
};

// Compiled for the best instruction set of this machine.
template <typename T>
struct FewQueriesKernel {
  static void AttendChunk(const ChunkTask<T>& task);
};

// Whether this is the better way for a call.
bool HasFewQueries(const AttentionProblem& problem);

absl::Status AttendFewQueries(const AttentionProblem& problem, ThreadPool& pool,
                              const StopCheck& stop, AttentionOutputs& out);
// What AttendFewQueries allocates, in bytes.
int64_t FewQueriesScratchBytes(const AttentionProblem& problem,
                               int thread_count);
// Scratch of one thread in AttendChunk, in bytes.
int64_t ChunkScratchBytes(const AttentionProblem& problem);

}  // namespace locus
