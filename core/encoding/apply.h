// Vectorised application of encodings to the rows of an input: rotation of
// channel pairs, and addition.
//
// T is float or double. Input and output may be the same buffer and may have
// any alignment, because inputs point into messages. No operations are fused,
// so that results are identical on every instruction set.
#pragma once

#include <cstdint>

#include "core/simd/streaming_stores.h"

namespace locus {

// Arguments of RotateRows().
template <typename T>
struct RowRotation {
  int64_t rows = 1;
  int64_t width = 0;
  int64_t pairs = 0;
  // Whether pair k is channels 2k and 2k + 1, instead of k and k + pairs.
  bool adjacent = false;
  const T* cos = nullptr;       // [rows, pairs]
  const T* sin = nullptr;       // [rows, pairs]
  const void* input = nullptr;  // [rows, width]
  void* output = nullptr;       // [rows, width]
  StorePolicy store_policy = StorePolicy::kCached;
};
// Rotates the first 2 * pairs channels of each row and copies the others.
template <typename T>
void RotateRows(const RowRotation<T>& rows);

// output[i] = input[i] + addend[i]
template <typename T>
void Add(const void* input, const T* addend, int64_t count, void* output,
         StorePolicy store_policy);

}  // namespace locus
