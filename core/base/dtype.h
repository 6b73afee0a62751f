// Element types of tensors, and conversion to and from float and double.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus {

enum class DType { kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kBool };

// Size of one element, in bytes.
inline constexpr int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 4;
    case DType::kFloat16:
    case DType::kBFloat16:
      return 2;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
    case DType::kBool:
      return 1;
  }
  return 0;
}
bool IsFloatingPoint(DType dtype);
// Name of the type as in the DType enum of the protocol, such as "FLOAT32".
absl::string_view NameOf(DType dtype);

// Converts `count` elements at `source`, which may have any alignment, to float
// or double. `dtype` must be a floating-point type. NaNs stay NaNs.
void ReadRow(DType dtype, const void* source, int64_t count, float* target);
void ReadRow(DType dtype, const void* source, int64_t count, double* target);

// Converts `count` floats or doubles to `dtype`, which must be a floating-point
// type. Rounds to nearest, ties to even. `target` may have any alignment.
void WriteRow(DType dtype, const float* source, int64_t count, void* target);
void WriteRow(DType dtype, const double* source, int64_t count, void* target);

}  // namespace locus
