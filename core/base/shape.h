// Tensor shapes, and overflow-checked arithmetic on sizes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"

namespace locus {

// The extents of a tensor, outermost first. The empty shape is a scalar.
using Shape = absl::InlinedVector<int64_t, 4>;

// a + b and a * b, or nullopt if the result does not fit into int64.
std::optional<int64_t> CheckedAdd(int64_t a, int64_t b);
std::optional<int64_t> CheckedMul(int64_t a, int64_t b);

// The product of the factors, or nullopt if one is negative or the product
// overflows.
std::optional<int64_t> CheckedProduct(std::initializer_list<int64_t> factors);

// Number of elements of a shape, or nullopt if an extent is negative or the
// product overflows.
std::optional<int64_t> ElementCount(const Shape& shape);

// Text form for messages, such as "[2, 8, 128, 64]".
std::string ToString(const Shape& shape);

}  // namespace locus
