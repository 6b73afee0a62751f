// Numbers of sixteen bits to single precision and back.
//
// Widening is exact. Narrowing rounds to nearest, ties to even, through
// subnormals and into infinity. NaNs stay NaNs. Neither side needs any
// alignment beyond that of float.
#pragma once

#include <cstdint>

namespace locus {

void WidenHalf(const void* source, int64_t count, float* target);
void WidenBFloat(const void* source, int64_t count, float* target);
void NarrowToHalf(const float* source, int64_t count, void* target);
void NarrowToBFloat(const float* source, int64_t count, void* target);

}  // namespace locus
