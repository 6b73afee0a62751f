// Straightforward implementations in Eigen that the kernels are compared with:
// attention, and the two encodings that have a performance goal.
//
// The code is compiled with the flags of the project and, on x86-64, also for
// AVX2 and AVX-512. The functions use the best copy that the instruction set in
// use allows, so that Eigen performs as in a build for this machine.
#pragma once

#include <cstdint>

#include "core/parallel/thread_pool.h"

namespace locus::bench {

// Input and output of EigenAttend().
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

// Attention with the matrix of scores in memory. Heads are distributed over the
// threads of the pool.
void EigenAttend(const EigenHeads& heads, ThreadPool& pool);

// Interleaved sines and cosines of every position; table: [length, dim]. Angles
// are computed in float32, as is common, and are inaccurate at large positions.
void EigenSinusoidal(int64_t length, int64_t dim, float* table,
                     ThreadPool& pool);

// Input and output of EigenRotate(), both [head_count, length, dim].
struct EigenRotation {
  const float* input;
  float* output;
  int64_t head_count;
  int64_t length;
  int64_t dim;
};

// Rotates adjacent pairs of channels. Positions are distributed over the
// threads of the pool.
void EigenRotate(const EigenRotation& rotation, ThreadPool& pool);

// The copy in use: "baseline", "AVX2" or "AVX-512".
const char* EigenInstructionSet();

}  // namespace locus::bench
