// The task `recall`: look up values by key (associative recall).
//
//   k4 v1 k9 v3 k2 v0 k4 v1 k7 v3 | k7 k9    targets v3 v3, at k7 and k9
//
// A sequence consists of pairs of a key and a value, a separator, and queries.
// A key has one value in a sequence. A queried key is in exactly one pair, at a
// random place. The other keys are drawn with repetition at every length, so
// that 16 keys suffice for any length and only the number of pairs grows.
//
// In training, repeated keys are targets as well. Without them the two steps
// that the task requires (a value attends to its key, a query finds the pair)
// take several times as long to learn.
//
// There are up to eight queries, at most as many as pairs. Their number makes
// up for an odd token, so that every length except 5, which counts as 4, is met
// exactly.
#pragma once

#include <cstdint>
#include <memory>

#include "core/training/task.h"

namespace locus {

// Tokens 0 .. 15 are keys, 16 .. 31 values.
inline constexpr int32_t kRecallKeyCount = 16;
inline constexpr int32_t kRecallValueCount = 16;
inline constexpr int32_t kRecallSeparator = 32;

std::unique_ptr<Task> MakeRecallTask();

}  // namespace locus
