// Randomised positions.
//
// Ruoss et al., 2023, "Randomized Positional Encodings Boost Length
// Generalization of Transformers": the tokens of a sequence of N get N distinct
// positions below a maximum, in order. What is trained so has seen positions of
// longer sequences. Any scheme can have them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/positions.h"
#include "core/base/random.h"

namespace locus {

struct Randomization {
  int64_t maximum = 2048;
  uint64_t seed = 0;
};
inline constexpr int64_t kMaxRandomized = int64_t{1} << 18;

// `count` distinct positions below the maximum, ascending, each set as likely
// as any other: by Floyd's algorithm, with numbers from the stream
// "randomized.positions" of the seed. For j = maximum - count .. maximum - 1, t
// is the whole part of uniform (j + 1), and t is taken, or j if t was taken
// before. INVALID_ARGUMENT (field `maximum`) if there are not that many.
absl::StatusOr<std::vector<int64_t>> DrawPositions(
    const Randomization& randomization, int64_t count);
// The same with numbers from a stream; `count` is at most the maximum.
std::vector<int64_t> DrawPositions(RandomStream& stream, int64_t maximum,
                                   int64_t count);

// Replaces position n of queries and keys by the n-th of those drawn for as
// many as the largest of both says. Errors as above, and RESOURCE_EXHAUSTED
// beyond kMaxRandomized.
absl::Status Randomize(const Randomization& randomization, Positions* queries,
                       Positions* keys);

}  // namespace locus
