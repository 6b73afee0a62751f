// The tasks `copy` and `reverse`: repeat a sequence, forwards or backwards.
//
//   copy     tokens a b c | a b    targets a b c, at |, a and b
//   reverse  tokens a b c | c b    targets c b a, at |, c and b
//
// There are only 16 symbols, so that symbols repeat and content alone does not
// determine the position. A sequence of n symbols has 2 n tokens; odd lengths
// are rounded down.
#pragma once

#include <cstdint>
#include <memory>

#include "core/training/task.h"

namespace locus {

// Tokens 0 .. 15 are symbols.
inline constexpr int32_t kCopySymbolCount = 16;
inline constexpr int32_t kCopySeparator = 16;

std::unique_ptr<Task> MakeCopyTask();
std::unique_ptr<Task> MakeReverseTask();

}  // namespace locus
