#include "core/attention/tiled/rows.h"

#include "core/attention/tiled/tile.h"
#include "core/base/dtype.h"
#include "core/encoding/apply.h"

namespace locus {

template <typename T>
const T* ReadRows(const TensorView& tensor, int64_t element, int64_t count,
                  int64_t dim, const RowAngles<T>& angles, T* buffer) {
  const void* bytes = tensor.at(element);
  if (!IsArrayOf<T>(tensor.dtype, bytes)) {
    ReadRow(tensor.dtype, bytes, count * dim, buffer);
    bytes = buffer;
  }
  if (angles.rotation == nullptr) return static_cast<const T*>(bytes);
  RotateRows<T>(
      {.rows = count,
       .width = dim,
       .pairs = angles.rotation->pair_count(),
       .adjacent = angles.rotation->pairing == Rotation::Pairing::kAdjacent,
       .cos = angles.cos,
       .sin = angles.sin,
       .input = bytes,
       .output = buffer});
  return buffer;
}

template const float* ReadRows(const TensorView&, int64_t, int64_t, int64_t,
                               const RowAngles<float>&, float*);
template const double* ReadRows(const TensorView&, int64_t, int64_t, int64_t,
                                const RowAngles<double>&, double*);

}  // namespace locus
