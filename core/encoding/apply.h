// What encodings do to the rows of an input: turn them, or add to them.
//
// Numbers are float or double. Input and output may be the same place, and
// neither needs any alignment: inputs lie in messages. Nothing is fused, so
// that a result is the same on every instruction set.
#pragma once

#include <cstdint>

#include "core/simd/streaming_stores.h"

namespace locus {

// Rows of channels, of which the first 2 * pairs turn and the others are
// copied.
template <typename T>
struct RowsToTurn {
  int64_t rows = 1;
  int64_t width = 0;
  int64_t pairs = 0;
  // Whether a pair is channels 2k and 2k + 1, not k and k + pairs.
  bool adjacent = false;
  const T* cos = nullptr;       // [rows, pairs]
  const T* sin = nullptr;       // [rows, pairs]
  const void* input = nullptr;  // [rows, width]
  void* output = nullptr;       // [rows, width]
  Writes writes = Writes::kThroughCache;
};
template <typename T>
void Turn(const RowsToTurn<T>& rows);

// output[i] = input[i] + addend[i]
template <typename T>
void Add(const void* input, const T* addend, int64_t count, void* output,
         Writes writes);

}  // namespace locus
