// What anyone would write with Eigen, and what ours has to beat: attention, and
// the two encodings that have a bar to clear.
//
// It is compiled once with the project's own flags, and again for each class of
// machines that Eigen knows more instructions of, so that the comparison is
// with the best that a build for just this machine would give.
#pragma once

#include <cstdint>

#include "core/parallel/thread_pool.h"

namespace locus::bench {

struct EigenHeads {
  const float* q;  // [head_count, query_count, dim]
  const float* k;  // [key_head_count, key_count, dim]
  const float* v;  // [key_head_count, key_count, dim]
  float* output;   // [head_count, query_count, dim]
  int64_t head_count;
  int64_t key_head_count;
  int64_t query_count;
  int64_t key_count;
  int64_t dim;
  bool causal;
};

// Threads share the heads among them. Of the copies, the best that the
// instruction set in use allows.
void EigenAttend(const EigenHeads& heads, ThreadPool& pool);

// Sines and cosines of every position, interleaved; table: [length, dim]. The
// angles are in single precision, as is usual, and far out quite wrong.
void EigenSinusoidal(int64_t length, int64_t dim, float* table,
                     ThreadPool& pool);

// Turns adjacent pairs; input and output: [head_count, length, dim].
void EigenRotate(const float* input, int64_t head_count, int64_t length,
                 int64_t dim, float* output, ThreadPool& pool);

// Which copy runs: "baseline", "AVX2" or "AVX-512".
const char* EigenInstructionSet();

}  // namespace locus::bench
