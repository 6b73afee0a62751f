// What the tiled kernel is handed: one block of queries of one head, and the
// keys and values of that head, packed.
//
// Queries lie along the SIMD lanes. Scores, probabilities and the output are
// stored with queries innermost, so that nothing is ever summed across lanes:
// maxima and sums are per lane, and both matrix products are the same rank-one
// update of four keys (or four value columns) times a few vectors of queries.
#pragma once

#include <cstdint>

#include "core/attention/problem.h"
#include "core/base/stopper.h"

namespace locus {

// Keys in one tile. The tile of scores stays in the first-level cache.
inline constexpr int64_t kTileKeys = 64;
// Keys, or value columns, that one pass of the inner loop takes.
inline constexpr int64_t kGroup = 4;

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

inline constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// One key head, converted, rotated and packed.
template <typename T>
struct PackedHead {
  // [ceil(Tk / 4), D, 4]: four keys interleaved; missing keys are zero.
  const T* keys = nullptr;
  // For each tile [ceil(Dv / 4), keys of the tile, 4]: four columns
  // interleaved; missing columns are zero, and so is what is not finite.
  const T* values = nullptr;
  // For each tile, whether a value was not finite. Those are added one by one,
  // to the queries that see them: 0 times NaN would reach all of them.
  const bool* irregular = nullptr;
};

// How the bias reaches a tile.
enum class BiasMode {
  kNone,
  // From a table over all offsets of the call: small, consecutive positions.
  kTable,
  // From the offsets of each tile, relative to the largest the block's first
  // query sees: not steep, consecutive positions.
  kDiagonal,
  // One by one, relative to the largest each query sees.
  kGeneral,
};

// Queries first_query .. + BlockQueries() - 1 of head h of batch b.
template <typename T>
struct BlockTask {
  const AttentionProblem* problem = nullptr;
  int64_t b = 0;
  int64_t h = 0;
  int64_t first_query = 0;
  PackedHead<T> head;
  // [Tq, pairs], if there is a rotation.
  const T* query_cos = nullptr;
  const T* query_sin = nullptr;
  BiasMode bias_mode = BiasMode::kNone;
  // kTable: bias times log2(e) of this head, by query index - key index from
  // -(Tk - 1) on, with BlockQueries() entries to spare.
  const T* bias_table = nullptr;
  AttentionOutputs* out = nullptr;
  // Asked every few tiles; what a stopped block leaves behind is not used.
  Stopper* stopper = nullptr;
};

// The kernel compiled for the best instruction set of this machine.
template <typename T>
struct TiledKernel {
  // Queries in one block.
  static int64_t BlockQueries();
  static void AttendBlock(const BlockTask<T>& task);
};

// Scratch of one thread in AttendBlock, in bytes.
int64_t BlockScratchBytes(const AttentionProblem& problem);

}  // namespace locus
