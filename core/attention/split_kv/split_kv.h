// Split-KV decoding: attention of few queries over many keys.
//
// The kernel follows Flash-Decoding (Dao, Haziza, Massa and Sizov, 2023,
// https://crfm.stanford.edu/2023/10/12/flashdecoding.html). With few queries,
// as in autoregressive decoding, there are not enough blocks of queries to
// occupy all threads, and the time is that of reading keys and values. The keys
// are therefore split into chunks that threads process in parallel. Each chunk
// yields the maximum, the sum and the unnormalised output of its own softmax;
// the partial results are then merged by log-sum-exp.
//
// All queries that share a key head are processed together, so that keys and
// values are read once, without being packed. The size of chunks is fixed and
// their results are merged in order, so that the result does not depend on the
// number of threads.
#pragma once

#include <cstdint>

#include "core/attention/problem.h"
#include "core/parallel/cancellation.h"

namespace locus {

// Keys in one chunk.
inline constexpr int64_t kChunkKeys = 4096;

// Partial softmax of one query over one chunk of keys.
template <typename T>
struct ChunkResult {
  // Maximum of the scores in units of log2. Reference of sum and output.
  double max = 0;
  // Sum of 2^(score - max); 0 if the query sees no key of the chunk.
  double sum = 0;
  T* output = nullptr;   // [Dv], not yet divided by the sum
  T* weights = nullptr;  // [Tk], not yet divided; null unless returned
};

// Input and output of AttendChunk(): the queries of one key head and the keys
// [first_key, end_key) of one chunk.
template <typename T>
struct ChunkTask {
  const AttentionProblem* problem = nullptr;
  int64_t b = 0;
  int64_t key_head = 0;
  int64_t first_key = 0;
  int64_t end_key = 0;
  // [rows, D], rotated and scaled. Row m * Tq + i is query i of query head m of
  // the key head's group.
  const T* queries = nullptr;
  // Rotation angles of all keys, [Tk, pairs]; null without a rotation.
  const T* key_cos = nullptr;
  const T* key_sin = nullptr;
  ChunkResult<T>* results = nullptr;  // [rows]
  CancellationState* cancellation = nullptr;
};

// The kernel for float or double, dispatched at run time to the best
// instruction set of this machine. Thread-safe.
template <typename T>
struct SplitKvKernel {
  static void AttendChunk(const ChunkTask<T>& task);
};

// Scratch memory that AttendChunk() needs per thread, in bytes.
int64_t ChunkScratchBytes(const AttentionProblem& problem);

}  // namespace locus
