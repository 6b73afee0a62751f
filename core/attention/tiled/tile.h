// Interface of the tiled attention kernel.
//
// The kernel follows FlashAttention (Dao et al., 2022, arXiv:2205.14135): a
// block of queries visits the keys one tile at a time, so that the matrix of
// scores is never stored as a whole. The softmax is computed online (Milakov
// and Gimelshein, 2018, arXiv:1805.02867). Each query i keeps
//
//   m_i = running maximum of its scores,
//   l_i = sum over the visited keys of exp(s_ij - m_i),
//   O_i = sum over the visited keys of exp(s_ij - m_i) v_j.
//
// When a tile raises m_i, l_i and O_i are multiplied by the correction factor
// exp(old m_i - new m_i). The output is O_i / l_i at the end.
//
// A call runs in two steps, both parallel over the threads of a pool:
//   1. PackTile() converts, rotates and interleaves the keys and values of one
//      tile of one key head.
//   2. AttendBlock() computes one block of queries of one query head.
//
// Queries lie along the SIMD lanes. Scores, probabilities and output are stored
// with queries innermost, so that nothing is summed across lanes: maxima and
// sums are per lane, and both matrix products are the same rank-one update of
// four keys (or four value columns) by a few vectors of queries.
#pragma once

#include <cstdint>

#include "core/attention/problem.h"
#include "core/parallel/cancellation.h"

namespace locus {

// Keys in one tile. The scores of a tile fit into the L1 cache.
inline constexpr int64_t kTileKeys = 64;
// Keys, or value columns, that the inner loop processes at a time.
inline constexpr int64_t kGroup = 4;
// Maximum number of queries in a block, over all instruction sets.
inline constexpr int64_t kMaxBlockQueries = 64;
// Maximum number of lanes in a vector, over all instruction sets.
inline constexpr int64_t kMaxLanes = 16;

inline constexpr double kLog2E = 1.4426950408889634074;
inline constexpr double kLn2 = 0.69314718055994530942;

inline constexpr int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Whether elements of type `dtype` at `data` can be accessed as T without
// conversion: same type, sufficient alignment.
template <typename T>
bool IsArrayOf(DType dtype, const void* data) {
  constexpr DType kDType = sizeof(T) == 4 ? DType::kFloat32 : DType::kFloat64;
  return dtype == kDType && reinterpret_cast<uintptr_t>(data) % alignof(T) == 0;
}

// Upper bounds for a set of keys, used to skip tiles that cannot change the
// result. Infinite if a key or a value is not finite.
struct NormBound {
  double max_key_norm = 0;   // largest Euclidean norm of a key
  double max_abs_value = 0;  // largest absolute element of a value
};

// Properties of one tile of keys and values, determined by PackTile().
struct TileInfo {
  // Whether a value is NaN or infinite. Such values are packed as zero, because
  // a probability of 0 times NaN would be NaN, and added separately to the
  // queries that see their key.
  bool has_non_finite = false;
  // Bounds of this tile and all tiles before it. PackTile() stores the bound of
  // the tile alone; the caller accumulates it over the tiles.
  NormBound prefix_bound;
  // Bounds of this tile and all tiles after it.
  NormBound suffix_bound;
};

// The keys and values of one key head, converted, rotated and packed.
template <typename T>
struct PackedHead {
  // [ceil(Tk / 4), D, 4]: four keys interleaved, padded with zero keys.
  const T* keys = nullptr;
  // For each tile [ceil(Dv / 4), keys of the tile, 4]: four value columns
  // interleaved, padded with zero columns. Non-finite values are zero.
  const T* values = nullptr;
  const TileInfo* tiles = nullptr;
};

// Input and output of PackTile(): the keys [first, first + count) of one key
// head.
template <typename T>
struct PackTask {
  const AttentionProblem* problem = nullptr;
  int64_t head = 0;  // b * Hkv + key head
  int64_t first = 0;
  int64_t count = 0;
  // Rotation angles of all keys, [Tk, pairs]; null without a rotation.
  const T* cos = nullptr;
  const T* sin = nullptr;
  // Whether to compute the NormBound of the tile.
  bool compute_bound = false;
  // Destination of the packed keys and values, and of the tile's properties.
  T* keys = nullptr;
  T* values = nullptr;
  TileInfo* info = nullptr;
};

// How the score bias is computed.
enum class BiasMode {
  // There is no bias.
  kNone,
  // The bias depends on the offset only and positions are consecutive, so the
  // biases of a tile form a Toeplitz matrix. All queries of a block share one
  // reference, which is subtracted from the bias.
  kOffsets,
  // Every element is computed, or looked up in a table by offset, separately,
  // relative to a reference of its query.
  kGeneral,
};

// Table of the biases of one head by offset (query position - key position).
struct OffsetBias {
  // Biases of the offsets lowest, lowest + 1, ..., followed by kMaxBlockQueries
  // entries of padding. Null if there is no table.
  const double* values = nullptr;
  int64_t lowest = 0;

  // Address of the bias of two positions. Larger offsets follow it.
  const double* At(int64_t query_position, int64_t key_position) const {
    return values + (query_position - key_position - lowest);
  }
};

// Input and output of AttendBlock(): up to BlockQueries() queries of head h of
// batch b, beginning with first_query.
template <typename T>
struct BlockTask {
  const AttentionProblem* problem = nullptr;
  int64_t b = 0;
  int64_t h = 0;
  int64_t first_query = 0;
  PackedHead<T> head;
  // Rotation angles of all queries, [Tq, pairs]; null without a rotation.
  const T* query_cos = nullptr;
  const T* query_sin = nullptr;
  BiasMode bias_mode = BiasMode::kNone;
  OffsetBias offset_bias;
  // Whether to skip tiles that cannot change the result. Requires the norm
  // bounds of the tiles.
  bool prune = false;
  AttentionOutputs* out = nullptr;
  // Polled every few tiles. The results of a cancelled block are undefined.
  CancellationState* cancellation = nullptr;
};

// The kernel for float or double, dispatched at run time to the best
// instruction set of this machine. Thread-safe.
template <typename T>
struct TiledKernel {
  // Number of queries in a full block.
  static int64_t BlockQueries();
  static void PackTile(const PackTask<T>& task);
  static void AttendBlock(const BlockTask<T>& task);
};

// Scratch memory that PackTile() and AttendBlock() need per thread, in bytes.
int64_t BlockScratchBytes(const AttentionProblem& problem);

}  // namespace locus
