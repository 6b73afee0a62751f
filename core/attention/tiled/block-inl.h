// State of one block of queries while it visits the tiles of its visible keys.
//
// Included once for each target; see core/simd/simd.h.
#if defined(LOCUS_CORE_ATTENTION_TILED_BLOCK_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
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

// Row length of the matrices of a block: the queries of a full block.
template <typename T>
constexpr int64_t kBlock = BlockQueries<T>();

// The keys [first, first + count) of one tile.
struct Tile {
  int64_t index = 0;  // of the packed tile
  int64_t first = 0;
  int64_t count = 0;
  int64_t row = 0;  // row of the first key in the matrix of scores

  // The keys [begin, end) of this tile.
  Tile Subrange(int64_t begin, int64_t end) const {
    return {index, begin, end - begin, row + begin - first};
  }
};

// State of a block. Matrices have one row per key or value column and one
// column per query (SIMD lane). The arrays live in the scratch memory of the
// thread, so that a thread can have only one block at a time.
template <typename T>
struct Block {
  explicit Block(const BlockTask<T>& block_task)
      : task(block_task),
        problem(*block_task.problem),
        query_count(std::min(BlockQueries<T>(),
                             problem.query_count - block_task.first_query)),
        lanes(RoundUp(query_count, Lanes<T>())),
        columns(RoundUp(problem.value_dim, kGroup)) {
    ScratchArena<T> arena(problem);
    queries = arena.Allocate(problem.dim * kBlock<T>);
    scores = arena.Allocate(kTileKeys * kBlock<T>);
    terms = arena.Allocate(kTileKeys * kBlock<T>);
    masked_scores = arena.Allocate(kTileKeys * kBlock<T>);
    output = arena.Allocate(columns * kBlock<T>);
    toeplitz_bias = arena.Allocate(kGroup + kTileKeys + kBlock<T>);
    std::fill_n(toeplitz_bias, kGroup, T(0));
    running = {arena.Allocate(kBlock<T>), arena.Allocate(kBlock<T>),
               arena.Allocate(kBlock<T>), arena.Allocate(kBlock<T>)};
    tile_sums = arena.Allocate(kBlock<T>);
    query_norms = arena.Allocate(kBlock<T>);
    visible_begin = arena.Allocate(kBlock<T>);
    visible_end = arena.Allocate(kBlock<T>);
    row_buffer = arena.Allocate(Lanes<T>() *
                                std::max({problem.dim, columns, kTileKeys}));
    for (int64_t c = 0; c < columns; ++c) {
      std::fill_n(output + c * kBlock<T>, lanes, T(0));
    }
    std::fill_n(running.sum, kBlock<T>, T(0));
    std::fill_n(running.max, kBlock<T>, -std::numeric_limits<T>::infinity());
    if (block_task.offset_bias.values != nullptr) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        positions[lane] =
            problem.query_positions[block_task.first_query +
                                    std::min(lane, query_count - 1)];
      }
    }
    // Neither end of the visible interval decreases from query to query.
    visible_to_any = {
        problem.VisibleKeys(block_task.first_query).begin,
        problem.VisibleKeys(block_task.first_query + query_count - 1).end};
    visible_to_all = {
        problem.VisibleKeys(block_task.first_query + query_count - 1).begin,
        problem.VisibleKeys(block_task.first_query).end};
  }

  // Indices of the first and last tile with visible keys.
  int64_t FirstTile() const { return visible_to_any.begin / kTileKeys; }
  int64_t LastTile() const { return (visible_to_any.end - 1) / kTileKeys; }

  // Keys visible to the query of a lane. Lanes without a query use the interval
  // of the last query.
  KeyInterval VisibleKeys(int64_t lane) const {
    return problem.VisibleKeys(task.first_query +
                               std::min(lane, query_count - 1));
  }

  // Whether every query sees all keys of a tile, before the mask is applied.
  bool IsFullyVisible(const Tile& tile) const {
    return tile.first >= visible_to_all.begin &&
           tile.first + tile.count <= visible_to_all.end;
  }

  // The part of a tile that contains its visible keys. It begins with a whole
  // group.
  Tile TileAt(int64_t index) const {
    const int64_t begin =
        std::max(index * kTileKeys, visible_to_any.begin / kGroup * kGroup);
    const int64_t end = std::min((index + 1) * kTileKeys, visible_to_any.end);
    return {index, begin, end - begin};
  }

  const BlockTask<T>& task;
  const AttentionProblem& problem;
  const int64_t query_count;
  const int64_t lanes;         // query_count, rounded up to whole vectors
  const int64_t columns;       // value_dim, rounded up to whole groups
  KeyInterval visible_to_any;  // keys visible to at least one query
  KeyInterval visible_to_all;  // keys visible to every query
  int64_t tiles_since_check = 0;
  // Reference of each query, subtracted from its score terms.
  double references[kBlock<T>] = {};
  // Reference of the block, subtracted from biases in BiasMode::kOffsets.
  double bias_reference = 0;
  // Positions of the queries; set if there is a table of biases.
  int64_t positions[kBlock<T>] = {};
  // Whether a reference is so large that the float64 reference implementation
  // rounds scores visibly; the kernel then rounds them in the same way.
  bool needs_double_rounding = false;
  bool has_finite_maxima = false;  // whether all running maxima are finite
  bool has_started = false;        // whether a tile has been processed

  T* queries;        // [D, kBlock], rotated and scaled; padded with zeros
  T* scores;         // [tile.count, kBlock]; -inf for hidden keys
  T* terms;          // [tile.count, kBlock]; relative to the references, log2
  T* masked_scores;  // copy of the scores of a tile with non-finite values
  T* output;         // [Dv, kBlock], not yet divided by the sums
  T* toeplitz_bias;  // biases of a tile by offset
  T* query_norms;    // [kBlock], norms of the packed queries
  T* visible_begin;  // [kBlock], visible keys relative to the tile
  T* visible_end;    // [kBlock]
  T* row_buffer;     // one row for each lane of a vector
  RunningSoftmax<T> running;
  T* tile_sums;  // [kBlock], sums of the probabilities of a fused tile
};

// Calls body(address of the scores, key relative to the tile, first lane) for
// each vector of scores of a tile.
template <typename T, typename Body>
void ForEachScore(Block<T>& b, const Tile& tile, const Body& body) {
  for (int64_t j = 0; j < tile.count; ++j) {
    for (int64_t lane = 0; lane < b.lanes; lane += Lanes<T>()) {
      body(b.scores + j * kBlock<T> + lane, j, lane);
    }
  }
}

// Sets visible_begin and visible_end: the keys of a tile that each query sees,
// as indices relative to the tile. Such small indices are exact in T.
template <typename T>
void FindVisibleRanges(Block<T>& b, const Tile& tile) {
  for (int64_t lane = 0; lane < b.lanes; ++lane) {
    const KeyInterval visible = b.VisibleKeys(lane);
    b.visible_begin[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.begin - tile.first, 0, tile.count));
    b.visible_end[lane] = static_cast<T>(
        std::clamp<int64_t>(visible.end - tile.first, 0, tile.count));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace locus
HWY_AFTER_NAMESPACE();

#endif
