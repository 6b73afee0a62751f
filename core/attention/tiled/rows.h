// Rows of queries, keys and values in the type that kernels compute in.
#pragma once

#include <cstdint>

#include "core/base/tensor.h"
#include "core/encoding/scheme.h"

namespace locus {

// What turns rows on the way, if anything does.
template <typename T>
struct RowAngles {
  const Rotation* rotation = nullptr;
  // Of the first row on: [rows, pairs].
  const T* cos = nullptr;
  const T* sin = nullptr;
};

// `count` rows of `dim` numbers from an element of the tensor on, turned: where
// they lie if they need no change, else in `own`, which has room for them.
template <typename T>
const T* ReadRows(const TensorView& tensor, int64_t element, int64_t count,
                  int64_t dim, const RowAngles<T>& angles, T* own);

}  // namespace locus
