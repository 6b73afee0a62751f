// Vectorised conversion between 16-bit floating-point formats and float.
//
// Half is IEEE 754 binary16; BFloat is bfloat16. Widening is exact. Narrowing
// rounds to nearest, ties to even, and handles subnormals and overflow to
// infinity. NaNs stay NaNs. 16-bit data may have any alignment; floats need the
// alignment of float.
#pragma once

#include <cstdint>

namespace locus {

void WidenHalf(const void* source, int64_t count, float* target);
void WidenBFloat(const void* source, int64_t count, float* target);
void NarrowToHalf(const float* source, int64_t count, void* target);
void NarrowToBFloat(const float* source, int64_t count, void* target);

}  // namespace locus
