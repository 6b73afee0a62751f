// Keys with values, then some of the keys.
//
//   k4 v1 k9 v3 k2 v0 k4 v1 k7 v3 | k7 k9    ->  v3 v3    at k7 and at k9
//
// A key has one value in a sequence. One that is asked for stands in exactly
// one pair, anywhere; the others are drawn with repetition at every length, so
// that 16 keys do for any length and nothing but the number of pairs changes
// with it. In training the keys that repeat are targets as well: without them
// the two steps that are needed (a value learns of its key, a query finds it)
// take several times as long to learn. Up to eight queries, as many as there
// are pairs at most; their number absorbs the odd token, and every length but 5
// is met exactly (5 counts as 4).
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
