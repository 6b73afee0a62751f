// One block of queries against the tiles of keys it sees, compiled for every
// instruction set that pays and chosen at run time.
//
// Scores are kept in units of log2: queries are multiplied by
// scale * log2(e) when they are packed, biases and masks by log2(e) when they
// are added, so that the softmax takes powers of two.
//
// Tiles are taken in passing: scores become probabilities before they leave the
// registers, relative to a maximum that a few keys suggest and that hardly ever
// has to change. Where it has to, and where more happens to scores, a tile is
// taken step by step. The tile nearest to the queries comes first; where the
// bias fades with distance, tiles are left out once all that remain cannot
// change a digit of the result.
#include <algorithm>
#include <cstdint>

#include "core/attention/tiled/tile.h"

#include "core/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/attention/tiled/tiled_block.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "core/attention/tiled/block-inl.h"
#include "core/attention/tiled/block_output-inl.h"
#include "core/attention/tiled/fused_tile-inl.h"
#include "core/attention/tiled/block_queries-inl.h"
#include "core/attention/tiled/tile_skip-inl.h"
#include "core/attention/tiled/tile_scores-inl.h"
#include "core/attention/tiled/bias_reference-inl.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/simd/flush_denormals.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

// Some hundred microseconds of work.
constexpr int64_t kTilesBetweenChecks = 32;

template <typename T>
bool ShouldStop(Block<T>& b) {
  if (++b.tiles_since_check < kTilesBetweenChecks) return false;
  b.tiles_since_check = 0;
  return b.task.stopper->ShouldStop();
}

// Whether nothing but terms that are added happens to its scores.
template <typename T>
bool CanPass(const Block<T>& b, const Tile& tile) {
  return b.problem.softcap == 0 && !b.coarse &&
         !b.task.head.tiles[tile.index].irregular;
}

template <typename T>
void TakeStepByStep(Block<T>& b, const Tile& tile) {
  const bool irregular = b.task.head.tiles[tile.index].irregular;
  ComputeScores(b, tile);
  if (irregular) std::copy_n(b.scores, tile.count * kBlock<T>, b.seen);
  if (UpdateSoftmax<T>(b.scores, tile.count, b.lanes, b.running)) {
    Fade<T>(b.running.fade, b.columns, b.lanes, b.output);
  }
  AccumulateValues(b, tile, 0, b.lanes);
  if (irregular) AddIrregularValues(b, tile);
  LookForMaxima(b);
}

template <typename T>
void Take(Block<T>& b, const Tile& tile) {
  const Sight sight = LookThroughMask(b, tile);
  if (sight == Sight::kNothing) return;
  if (CanPass(b, tile)) {
    if (!b.has_begun) GuessMaxima(b);
    b.has_begun = true;
    const bool adds = sight != Sight::kEverything || HasGeneralBias(b);
    if (b.has_maxima && TakeInPassing(b, tile, adds)) return;
  }
  b.has_begun = true;
  TakeStepByStep(b, tile);
}

// The key that stands where the block's last query does.
template <typename T>
int64_t NearestKey(const Block<T>& b) {
  const int64_t last = b.task.first_query + b.query_count - 1;
  const int64_t key =
      b.task.bias_mode == BiasMode::kOffsets
          ? b.problem.query_positions[last] - b.problem.key_positions[0]
          : b.problem.query_offset + last;
  return std::clamp(key, b.visible.first, b.visible.last - 1);
}

template <typename T>
void AttendFromNearest(Block<T>& b) {
  const int64_t start =
      std::clamp(NearestKey(b) / kTileKeys, b.FirstTile(), b.LastTile());
  for (int64_t n = start; n >= b.FirstTile(); --n) {
    if (ShouldStop(b)) return;
    if (n < start && NoneMattersUpTo(b, n)) break;
    Take(b, b.TileAt(n));
  }
  for (int64_t n = start + 1; n <= b.LastTile(); ++n) {
    if (ShouldStop(b)) return;
    if (NoneMattersFrom(b, n)) break;
    Take(b, b.TileAt(n));
  }
}

template <typename T>
void WriteResults(Block<T>& b) {
  WriteOutput(b);
  if (b.task.out->log_sum_exp) WriteLogSumExp(b);
  if (!b.task.out->weights || b.visible.empty()) return;
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
  if (!b.visible.empty()) {
    PackQueries(b);
    ComputeShifts(b);
    AttendFromNearest(b);
    if (StrayedTooFar(b)) {
      BlockTask<T> again = task;
      again.bias_mode = BiasMode::kGeneral;
      again.prune = false;
      return AttendBlock(again);
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
