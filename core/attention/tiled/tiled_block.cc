// AttendBlock(): one block of queries and the tiles of its visible keys.
// Compiled for several instruction sets; the best one is chosen at run time.
// See tile.h for the algorithm.
//
// Scores are in units of log2: queries are multiplied by scale * log2(e) when
// they are packed, biases and masks by log2(e) when they are added, so that the
// softmax needs powers of two only.
//
// Most tiles are fused (fused_tile-inl.h): scores become probabilities while
// they are in registers, relative to the current maximum. A tile is unfused,
// that is, computed in separate passes with a step of the online softmax, if a
// score is far above the maximum, or if a soft cap, non-finite values or
// extreme masks need more than additive terms. The tile nearest to the queries
// comes first. If the bias decays with distance, the remaining tiles are
// skipped as soon as they cannot change the result (tile_skip-inl.h).
#include <algorithm>
#include <cstdint>

#include "core/attention/tiled/tile.h"

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/tiled/tiled_block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/attention/tiled/bias_reference-inl.h"
#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_output-inl.h"
#include "core/attention/tiled/block_queries-inl.h"
#include "core/attention/tiled/fused_tile-inl.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/tile_scores-inl.h"
#include "core/attention/tiled/tile_skip-inl.h"
#include "core/simd/flush_denormals.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Tiles between two polls of the cancellation state: a few hundred microseconds
// of work.
constexpr int64_t kTilesBetweenChecks = 32;

// Polls the cancellation state every kTilesBetweenChecks calls.
template <typename T>
bool ShouldStop(Block<T>& b) {
  if (++b.tiles_since_check < kTilesBetweenChecks) return false;
  b.tiles_since_check = 0;
  return b.task.cancellation->ShouldStop();
}

// Whether a tile can be fused: nothing but additive terms is applied to its
// scores, and its values are finite.
template <typename T>
bool CanFuse(const Block<T>& b, const Tile& tile) {
  return b.problem.softcap == 0 && !b.needs_double_rounding &&
         !b.task.head.tiles[tile.index].has_non_finite;
}

// Processes a tile in separate passes: scores, one step of the online softmax,
// rescaling, values.
template <typename T>
void ProcessUnfusedTile(Block<T>& b, const Tile& tile) {
  const bool has_non_finite = b.task.head.tiles[tile.index].has_non_finite;
  ComputeScores(b, tile);
  if (has_non_finite)
    std::copy_n(b.scores, tile.count * kBlock<T>, b.masked_scores);
  if (UpdateSoftmax<T>(b.scores, tile.count, b.lanes, b.running)) {
    Rescale<T>(b.running.correction, b.columns, b.lanes, b.output);
  }
  AccumulateValues(b, tile, 0, b.lanes);
  if (has_non_finite) AddNonFiniteValues(b, tile);
  UpdateMaxima(b);
}

// Adds a tile to the running softmax and the output. Skips it if the mask hides
// all of its keys.
template <typename T>
void ProcessTile(Block<T>& b, const Tile& tile) {
  const MaskCoverage coverage = ClassifyMask(b, tile);
  if (coverage == MaskCoverage::kNone) return;
  if (CanFuse(b, tile)) {
    if (!b.has_started) EstimateMaxima(b);
    b.has_started = true;
    const bool has_terms = coverage != MaskCoverage::kAll || HasGeneralBias(b);
    if (b.has_finite_maxima && ProcessFusedTile(b, tile, has_terms)) return;
  }
  b.has_started = true;
  ProcessUnfusedTile(b, tile);
}

// The visible key nearest to the last query of the block.
template <typename T>
int64_t NearestKey(const Block<T>& b) {
  const int64_t last = b.task.first_query + b.query_count - 1;
  const int64_t key =
      b.task.bias_mode == BiasMode::kOffsets
          ? b.problem.query_positions[last] - b.problem.key_positions[0]
          : b.problem.query_offset + last;
  return std::clamp(key, b.visible_to_any.begin, b.visible_to_any.end - 1);
}

// Processes the visible tiles, beginning with the nearest one: first towards
// the start of the sequence, then towards its end. Far keys can be skipped only
// when near keys have been accumulated.
template <typename T>
void ProcessTilesFromNearest(Block<T>& b) {
  const int64_t start =
      std::clamp(NearestKey(b) / kTileKeys, b.FirstTile(), b.LastTile());
  for (int64_t n = start; n >= b.FirstTile(); --n) {
    if (ShouldStop(b)) return;
    if (n < start && CanSkipUpTo(b, n)) break;
    ProcessTile(b, b.TileAt(n));
  }
  for (int64_t n = start + 1; n <= b.LastTile(); ++n) {
    if (ShouldStop(b)) return;
    if (CanSkipFrom(b, n)) break;
    ProcessTile(b, b.TileAt(n));
  }
}

// Writes the results of the block. Weights need a second pass over the tiles.
template <typename T>
void WriteResults(Block<T>& b) {
  WriteOutput(b);
  if (b.task.out->log_sum_exp) WriteLogSumExp(b);
  if (!b.task.out->weights || b.visible_to_any.empty()) return;
  for (int64_t n = b.FirstTile(); n <= b.LastTile(); ++n) {
    if (ShouldStop(b)) return;
    const Tile tile = b.TileAt(n);
    ComputeScores(b, tile);
    WriteWeights(b, tile);
  }
}

template <typename T>
void AttendBlock(const BlockTask<T>& task) {
  Block<T> b(task);
  if (!b.visible_to_any.empty()) {
    PackQueries(b);
    ComputeReferences(b);
    ProcessTilesFromNearest(b);
    if (LostPrecision(b)) {
      BlockTask<T> general_task = task;
      general_task.bias_mode = BiasMode::kGeneral;
      general_task.prune = false;
      return AttendBlock(general_task);
    }
  }
  WriteResults(b);
}

int64_t BlockQueriesF32() { return BlockQueries<float>(); }
int64_t BlockQueriesF64() { return BlockQueries<double>(); }
void AttendBlockF32(const BlockTask<float>& task) {
  const FlushDenormals flush;
  AttendBlock(task);
  TrimThreadScratch();
}
void AttendBlockF64(const BlockTask<double>& task) {
  AttendBlock(task);
  TrimThreadScratch();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace locus {

HWY_EXPORT(BlockQueriesF32);
HWY_EXPORT(BlockQueriesF64);
HWY_EXPORT(AttendBlockF32);
HWY_EXPORT(AttendBlockF64);

template <>
int64_t TiledKernel<float>::BlockQueries() {
  return HWY_DYNAMIC_DISPATCH(BlockQueriesF32)();
}
template <>
int64_t TiledKernel<double>::BlockQueries() {
  return HWY_DYNAMIC_DISPATCH(BlockQueriesF64)();
}
template <>
void TiledKernel<float>::AttendBlock(const BlockTask<float>& task) {
  HWY_DYNAMIC_DISPATCH(AttendBlockF32)(task);
}
template <>
void TiledKernel<double>::AttendBlock(const BlockTask<double>& task) {
  HWY_DYNAMIC_DISPATCH(AttendBlockF64)(task);
}

}  // namespace locus
#endif  // HWY_ONCE
