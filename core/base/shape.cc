#include "core/base/shape.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace locus {

std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

std::optional<int64_t> CheckedProduct(std::initializer_list<int64_t> factors) {
  return ElementCount(Shape(factors));
}

std::optional<int64_t> ElementCount(const Shape& shape) {
  // A zero extent makes the product zero even if the other extents overflow.
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty |= extent == 0;
  }
  if (empty) return 0;
  std::optional<int64_t> count = 1;
  for (const int64_t extent : shape) {
    count = CheckedMul(*count, extent);
    if (!count.has_value()) return std::nullopt;
  }
  return count;
}

std::string ToString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace locus
