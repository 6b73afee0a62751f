// Element types, and conversion of rows between them.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace locus {

enum class DType { kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kBool };

// In bytes.
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
// "FLOAT32" and so on, as the contract spells them.
absl::string_view NameOf(DType dtype);

// Converts `count` elements at `source`, of type `dtype` and any alignment, to
// float or double. `dtype` is floating point. NaNs stay NaNs.
void ReadRow(DType dtype, const void* source, int64_t count, float* target);
void ReadRow(DType dtype, const void* source, int64_t count, double* target);

// The other way; rounds to nearest, ties to even.
void WriteRow(DType dtype, const float* source, int64_t count, void* target);
void WriteRow(DType dtype, const double* source, int64_t count, void* target);

}  // namespace locus
