// What one block of queries has at hand while it goes through the tiles of keys
// it sees.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCUS_CORE_ATTENTION_TILED_BLOCK_INL_H_
#undef LOCUS_CORE_ATTENTION_TILED_BLOCK_INL_H_
#else
#define LOCUS_CORE_ATTENTION_TILED_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include "core/attention/problem.h"
#include "core/attention/tiled/scratch.h"
#include "core/attention/tiled/tile-inl.h"
#include "core/attention/tiled/tile.h"

HWY_BEFORE_NAMESPACE();
namespace locus {
namespace HWY_NAMESPACE {

template <typename T>
constexpr int64_t kBlock = BlockQueries<T>();

// Visible keys of one tile.
struct Tile {
  int64_t index = 0;
  int64_t first = 0;  // key
  int64_t count = 0;
  int64_t row = 0;  // of the scores, where the first one's are

  // Its keys from_key .. to_key - 1.
  Tile From(int64_t from_key, int64_t to_key) const {
    return {index, from_key, to_key - from_key, row + from_key - first};
  }
};

template <typename T>
struct Block {
  explicit Block(const BlockTask<T>& task)
      : task(task),
        problem(*task.problem),
        query_count(std::min(BlockQueries<T>(),
                             problem.query_count - task.first_query)),
        lanes(RoundUp(query_count, Lanes<T>())),
        columns(RoundUp(problem.value_dim, kGroup)) {
    ScratchArena<T> arena(problem);
    queries = arena.Take(problem.dim * kBlock<T>);
    scores = arena.Take(kTileKeys * kBlock<T>);
    added = arena.Take(kTileKeys * kBlock<T>);
    seen = arena.Take(kTileKeys * kBlock<T>);
    output = arena.Take(columns * kBlock<T>);
    diagonal = arena.Take(kGroup + kTileKeys + kBlock<T>);
    std::fill_n(diagonal, kGroup, T(0));
    running = {arena.Take(kBlock<T>), arena.Take(kBlock<T>),
               arena.Take(kBlock<T>), arena.Take(kBlock<T>)};
    tile_sums = arena.Take(kBlock<T>);
    norms = arena.Take(kBlock<T>);
    first = arena.Take(kBlock<T>);
    last = arena.Take(kBlock<T>);
    rows = arena.Take(Lanes<T>() * std::max({problem.dim, columns, kTileKeys}));
    for (int64_t c = 0; c < columns; ++c) {
      std::fill_n(output + c * kBlock<T>, lanes, T(0));
    }
    std::fill_n(running.sum, kBlock<T>, T(0));
    std::fill_n(running.max, kBlock<T>, -std::numeric_limits<T>::infinity());
    if (task.offset_bias.values != nullptr) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        positions[lane] =
            problem.query_positions[task.first_query +
                                    std::min(lane, query_count - 1)];
      }
    }
    // Both ends of the visible interval grow with the query.
    visible = {problem.VisibleKeys(task.first_query).first,
               problem.VisibleKeys(task.first_query + query_count - 1).last};
    inner = {problem.VisibleKeys(task.first_query + query_count - 1).first,
             problem.VisibleKeys(task.first_query).last};
  }

  int64_t FirstTile() const { return visible.first / kTileKeys; }
  int64_t LastTile() const { return (visible.last - 1) / kTileKeys; }

  // Of a lane; those without a query see what the last one does.
  KeyInterval VisibleKeys(int64_t lane) const {
    return problem.VisibleKeys(task.first_query +
                               std::min(lane, query_count - 1));
  }

  // Whether every query sees all keys of a tile.
  bool AllSee(const Tile& tile) const {
    return tile.first >= inner.first && tile.first + tile.count <= inner.last;
  }

  // The visible part of a tile, from a whole group on.
  Tile TileAt(int64_t index) const {
    const int64_t first =
        std::max(index * kTileKeys, visible.first / kGroup * kGroup);
    const int64_t last = std::min((index + 1) * kTileKeys, visible.last);
    return {index, first, last - first};
  }

  const BlockTask<T>& task;
  const AttentionProblem& problem;
  const int64_t query_count;
  const int64_t lanes;    // query_count in whole vectors
  const int64_t columns;  // value_dim in whole groups
  KeyInterval visible;    // seen by any query of the block
  KeyInterval inner;      // seen by every query of the block
  int64_t tiles_since_check = 0;
  // What a query's added terms are relative to, and what a bias by offset is.
  double shifts[kBlock<T>] = {};
  double bias_shift = 0;
  int64_t positions[kBlock<T>] = {};  // of each query, for a table of biases
  bool coarse = false;      // whether a shift is so large that digits are lost
  bool has_maxima = false;  // whether every query has a finite one
  bool has_begun = false;   // whether any tile has been taken

  T* queries;   // [D, kBlock], rotated and scaled; zero where there is none
  T* scores;    // [tile.count, kBlock], -inf where hidden
  T* added;     // the same, relative to the shifts, in units of log2
  T* seen;      // the scores once more, where values are irregular
  T* output;    // [Dv, kBlock]
  T* diagonal;  // biases by offset
  T* norms;     // of each packed query
  T* first;     // of the keys a query sees, within a tile
  T* last;
  T* rows;  // for as many rows as a vector has lanes
  RunningSoftmax<T> running;
  T* tile_sums;  // what a tile adds to the sums
};

// body(place, key within the tile, first lane), a vector at a time.
template <typename T, typename Body>
void ForEachScore(Block<T>& b, const Tile& tile, const Body& body) {
  for (int64_t j = 0; j < tile.count; ++j) {
    for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
      body(b.scores + j * kBlock<T> + lane, j, lane);
    }
  }
}

// first and last: of the keys that each query sees of a tile. Indices relative
// to the tile are small and exact in T.
template <typename T>
void FindFirstAndLast(Block<T>& b, const Tile& tile) {
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    const KeyInterval visible = b.VisibleKeys(lane);
    b.first[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.first - tile.first, 0, tile.count));
    b.last[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.last - tile.first, 0, tile.count));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
