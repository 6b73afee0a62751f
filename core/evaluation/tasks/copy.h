// Say it again, forwards or backwards.
//
//   copy     a b c | a b    ->  a b c      after |, a and b
//   reverse  a b c | c b    ->  c b a
//
// 16 symbols, so that symbols repeat and content alone does not say where one
// stands. A sequence of n symbols has 2 n tokens: lengths are even, and an odd
// one counts as the even one below it.
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
