// Randomised positions.
//
// Ruoss et al., 2023, "Randomized Positional Encodings Boost Length
// Generalization of Transformers": the N tokens of a sequence get N distinct
// random positions below a maximum, in ascending order. A model trained this
// way has seen the positions of longer sequences. Works with every scheme.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/positions.h"
#include "core/base/random.h"

namespace locus {

struct Randomization {
  int64_t maximum = 2048;
  uint64_t seed = 0;
};
// Max number of positions that are drawn for one call.
inline constexpr int64_t kMaxRandomized = int64_t{1} << 18;

// Draws `count` distinct positions below the maximum, ascending, such that each
// subset is equally likely. Uses Floyd's sampling algorithm with the stream
// "randomized.positions" of the seed: for j = maximum - count .. maximum - 1,
// let t = floor(uniform (j + 1)); add t to the set, or j if t is already in it.
// Returns INVALID_ARGUMENT (field `maximum`) if `count` exceeds the maximum.
absl::StatusOr<std::vector<int64_t>> DrawPositions(
    const Randomization& randomization, int64_t count);
// Same as above, with random numbers from a given stream. `count` must not
// exceed `maximum`.
std::vector<int64_t> DrawPositions(RandomStream& stream, int64_t maximum,
                                   int64_t count);

// Draws max + 1 positions, where max is the largest position of all sequences,
// and replaces each position n by the n-th drawn position. Returns
// INVALID_ARGUMENT (field `maximum`) if there are too few positions below the
// maximum, and RESOURCE_EXHAUSTED beyond kMaxRandomized.
absl::Status Randomize(const Randomization& randomization,
                       absl::Span<Positions* const> sequences);

}  // namespace locus
