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
#include "core/parallel/stopper.h"

namespace locus {

// Keys in one tile. The tile of scores stays in the first-level cache.
inline constexpr int64_t kTileKeys = 64;
// Keys, or value columns, that one pass of the inner loop takes.
inline constexpr int64_t kGroup = 4;
// No instruction set has longer blocks of queries.
inline constexpr int64_t kMaxBlockQueries = 64;
// Nor longer vectors.
inline constexpr int64_t kMaxLanes = 16;

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

inline constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Whether numbers of that type at that place can be read as T.
template <typename T>
bool IsArrayOf(DType dtype, const void* place) {
  constexpr DType kOwn = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  return dtype == kOwn && reinterpret_cast<uintptr_t>(place) % alignof(T) == 0;
}

// The most that keys and values reach: what a block needs to know to leave out
// tiles that cannot matter. Infinite if a number is not finite.
struct Reach {
  double key_norm = 0;
  double value = 0;  // the largest, without its sign
};

// What packing learns of a tile.
struct TileFacts {
  // Whether a value is not finite. Those are packed as zero and added one by
  // one, to the queries that see them: 0 times NaN would reach all of them.
  bool irregular = false;
  // Of this tile and all before it, and of this tile and all behind it.
  Reach up_to_here;
  Reach from_here;
};

// One key head, converted, rotated and packed.
template <typename T>
struct PackedHead {
  // [ceil(Tk / 4), D, 4]: four keys interleaved; missing keys are zero.
  const T* keys = nullptr;
  // For each tile [ceil(Dv / 4), keys of the tile, 4]: four columns
  // interleaved; missing columns are zero, and so is what is not finite.
  const T* values = nullptr;
  const TileFacts* tiles = nullptr;
};

// Keys first .. first + count - 1, one tile of one key head.
template <typename T>
struct PackTask {
  const AttentionProblem* problem = nullptr;
  int64_t head = 0;  // of all batches
  int64_t first = 0;
  int64_t count = 0;
  // [Tk, pairs], if there is a rotation.
  const T* cos = nullptr;
  const T* sin = nullptr;
  // Whether to measure the reach.
  bool measure = false;
  // Where the tile goes.
  T* keys = nullptr;
  T* values = nullptr;
  TileFacts* facts = nullptr;
};

// How the bias reaches a tile.
enum class BiasMode {
  kNone,
  // From a table over all offsets of the call: consecutive positions.
  kOffsets,
  // One by one, relative to the largest each query sees; from such a table,
  // too, if one can hold it.
  kGeneral,
};

// The biases of one head by the offset of two positions, query less key.
struct OffsetBias {
  // From the lowest offset on, with kMaxBlockQueries entries to spare; null if
  // there is no table.
  const double* values = nullptr;
  int64_t lowest = 0;

  const double* At(int64_t query_position, int64_t key_position) const {
    return values + (query_position - key_position - lowest);
  }
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
  OffsetBias offset_bias;
  // Whether the tiles' reach is known and tiles that cannot matter are left
  // out.
  bool prune = false;
  AttentionOutputs* out = nullptr;
  // Asked every few tiles; what a stopped block leaves behind is not used.
  Stopper* stopper = nullptr;
};

// The kernel compiled for the best instruction set of this machine.
template <typename T>
struct TiledKernel {
  // Queries in one block.
  static int64_t BlockQueries();
  static void PackTile(const PackTask<T>& task);
  static void AttendBlock(const BlockTask<T>& task);
};

// Scratch of one thread in PackTile and AttendBlock, in bytes.
int64_t BlockScratchBytes(const AttentionProblem& problem);

}  // namespace locus
