// Reads rows of queries, keys and values in the type that kernels compute in.
#pragma once

#include <cstdint>

#include "core/base/tensor.h"
#include "core/encoding/scheme.h"

namespace locus {

// Rotation of rows of queries or keys; none if `rotation` is null.
template <typename T>
struct RowAngles {
  const Rotation* rotation = nullptr;
  // Angles of the rows, [rows, pairs].
  const T* cos = nullptr;
  const T* sin = nullptr;
};

// Returns `count` rows of `dim` elements, beginning with `element` of the
// tensor, converted to T and rotated. Rows that need no change are returned in
// place, others are stored in `buffer`, which must have room for count * dim
// elements.
template <typename T>
const T* ReadRows(const TensorView& tensor, int64_t element, int64_t count,
                  int64_t dim, const RowAngles<T>& angles, T* buffer);

}  // namespace locus
