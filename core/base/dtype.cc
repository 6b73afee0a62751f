#include "core/base/dtype.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/simd/half_convert.h"

namespace locus {
namespace {

// Rounds a double to float with round-to-odd: exact values stay, others become
// the neighbouring float whose last bit is odd. Rounding the result once more,
// to a 16-bit type, is then the same as rounding the double directly. Rounding
// to the nearest float first could end on the wrong side of a tie.
float RoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || !std::isfinite(nearest)) {
    return nearest;
  }
  uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof(bits));
  if (bits % 2 == 0) {
    bits += std::abs(static_cast<double>(nearest)) < std::abs(value) ? 1 : -1;
  }
  float odd;
  std::memcpy(&odd, &bits, sizeof(odd));
  return odd;
}

// Converts elements of any alignment; they usually point into messages. A
// memcpy() of constant size compiles to a plain load.
template <typename Element, typename Value>
void Read(const void* source, int64_t count, Value* target) {
  const char* bytes = static_cast<const char*>(source);
  if constexpr (std::is_same_v<Element, Value>) {
    if (count > 0) std::memcpy(target, bytes, count * sizeof(Value));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      Element element;
      std::memcpy(&element, bytes + i * sizeof(Element), sizeof(Element));
      target[i] = static_cast<Value>(element);
    }
  }
}

template <typename Element, typename Value>
void Write(const Value* source, int64_t count, void* target) {
  char* bytes = static_cast<char*>(target);
  if constexpr (std::is_same_v<Element, Value>) {
    if (count > 0) std::memcpy(bytes, source, count * sizeof(Value));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const Element element = static_cast<Element>(source[i]);
      std::memcpy(bytes + i * sizeof(Element), &element, sizeof(Element));
    }
  }
}

// Size of the float buffer through which 16-bit types are converted to and from
// double.
constexpr int64_t kChunk = 256;

void ReadNarrow(void (*widen)(const void*, int64_t, float*), const void* source,
                int64_t count, float* target) {
  widen(source, count, target);
}

void ReadNarrow(void (*widen)(const void*, int64_t, float*), const void* source,
                int64_t count, double* target) {
  const char* bytes = static_cast<const char*>(source);
  float buffer[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t size = std::min(kChunk, count - i);
    widen(bytes + 2 * i, size, buffer);
    std::copy_n(buffer, size, target + i);
  }
}

void WriteNarrow(void (*narrow)(const float*, int64_t, void*),
                 const float* source, int64_t count, void* target) {
  narrow(source, count, target);
}

void WriteNarrow(void (*narrow)(const float*, int64_t, void*),
                 const double* source, int64_t count, void* target) {
  char* bytes = static_cast<char*>(target);
  float buffer[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t size = std::min(kChunk, count - i);
    std::transform(source + i, source + i + size, buffer, RoundToOdd);
    narrow(buffer, size, bytes + 2 * i);
  }
}

template <typename Value>
void ReadAs(DType dtype, const void* source, int64_t count, Value* target) {
  switch (dtype) {
    case DType::kFloat32:
      return Read<float>(source, count, target);
    case DType::kFloat64:
      return Read<double>(source, count, target);
    case DType::kFloat16:
      return ReadNarrow(WidenHalf, source, count, target);
    case DType::kBFloat16:
      return ReadNarrow(WidenBFloat, source, count, target);
    case DType::kInt64:
    case DType::kBool:
      break;
  }
}

template <typename Value>
void WriteAs(DType dtype, const Value* source, int64_t count, void* target) {
  switch (dtype) {
    case DType::kFloat32:
      return Write<float>(source, count, target);
    case DType::kFloat64:
      return Write<double>(source, count, target);
    case DType::kFloat16:
      return WriteNarrow(NarrowToHalf, source, count, target);
    case DType::kBFloat16:
      return WriteNarrow(NarrowToBFloat, source, count, target);
    case DType::kInt64:
    case DType::kBool:
      break;
  }
}

}  // namespace

bool IsFloatingPoint(DType dtype) {
  return dtype != DType::kInt64 && dtype != DType::kBool;
}

absl::string_view NameOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "FLOAT32";
    case DType::kFloat64:
      return "FLOAT64";
    case DType::kFloat16:
      return "FLOAT16";
    case DType::kBFloat16:
      return "BFLOAT16";
    case DType::kInt64:
      return "INT64";
    case DType::kBool:
      return "BOOL";
  }
  return "";
}

void ReadRow(DType dtype, const void* source, int64_t count, float* target) {
  ReadAs(dtype, source, count, target);
}

void ReadRow(DType dtype, const void* source, int64_t count, double* target) {
  ReadAs(dtype, source, count, target);
}

void WriteRow(DType dtype, const float* source, int64_t count, void* target) {
  WriteAs(dtype, source, count, target);
}

void WriteRow(DType dtype, const double* source, int64_t count, void* target) {
  WriteAs(dtype, source, count, target);
}

}  // namespace locus
