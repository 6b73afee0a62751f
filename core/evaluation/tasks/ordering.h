// Is the sequence ascending?
//
//   2 3 3 7 ?   ->  yes        2 3 7 3 ?   ->  no
//
// Values are tokens; the last token asks, and there the answer is read: a mean
// over the sequence would make all schemes alike. Examples come as matched
// pairs, a sorted sequence and the same values in another order: one adjacent
// swap of two different values (hard) or a random permutation (easy), half
// each. A model that knows no positions and sees everything says the same to
// both, and is right in exactly half of the cases, which checks the whole
// pipeline for free. A model that sees the easy ones only reaches 0.75.
//
// A sequence has 4 to 6 different values of 8 (fewer if it is shorter), drawn
// alike at every length, so that neither the gaps between values nor their
// range betray the length once there are six of them; what grows with it is how
// often a value repeats. More values take more steps to learn; fewer than 4
// would make so few sorted sequences that tests repeat what was trained.
//
// A bias that is the same to the left and to the right tells neighbours from
// others, but not which of two is first: only the query, at the end, breaks the
// symmetry.
//
// A test has pairs only; a training batch of odd size ends with half a pair.
#pragma once

#include <cstdint>
#include <memory>

#include "core/training/task.h"

namespace locus {

// Tokens 0 .. 7 are values.
inline constexpr int32_t kOrderingValueCount = 8;
inline constexpr int32_t kOrderingQuery = 8;
inline constexpr int32_t kOrderingYes = 9;
inline constexpr int32_t kOrderingNo = 10;

std::unique_ptr<Task> MakeOrderingTask();

}  // namespace locus
