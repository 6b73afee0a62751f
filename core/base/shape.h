// Shapes, and arithmetic on sizes that cannot overflow unnoticed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"

namespace locus {

// The extents of a tensor, outermost first. Empty: a scalar.
using Shape = absl::InlinedVector<int64_t, 4>;

// a + b and a * b, or nothing if that is more than an int64 holds.
std::optional<int64_t> CheckedAdd(int64_t a, int64_t b);
std::optional<int64_t> CheckedMul(int64_t a, int64_t b);

// The product of factors that are not negative, or nothing on overflow.
std::optional<int64_t> CheckedProduct(std::initializer_list<int64_t> factors);

// How many elements a shape has, or nothing if an extent is negative or the
// product overflows.
std::optional<int64_t> ElementCount(const Shape& shape);

// "[2, 8, 128, 64]".
std::string ToString(const Shape& shape);

}  // namespace locus
