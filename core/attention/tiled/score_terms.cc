#include "core/attention/tiled/score_terms.h"

#include <algorithm>

namespace locus {

void AddedTerms::Row(int64_t i, int64_t first, int64_t count,
                     double* values) const {
  if (with_bias_) {
    problem_.bias->Row(h_, problem_.query_positions[i], problem_.key_positions,
                       first, count, values);
  } else {
    std::fill_n(values, count, 0.0);
  }
  if (problem_.mask) AddMask(i, first, count, values);
}

void AddedTerms::AddMask(int64_t i, int64_t first, int64_t count,
                         double* values) const {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const Mask& mask = *problem_.mask;
  if (mask.key_stride == 0) {
    const double term = mask.At(b_, h_, i, 0);
    for (int64_t j = 0; j < count; ++j) values[j] += term;
    return;
  }
  const char* const row = mask.tensor.at(mask.Element(b_, h_, i, first));
  if (mask.tensor.dtype == DType::kBool) {
    for (int64_t j = 0; j < count; ++j) {
      if (row[j] == 0) values[j] = kHidden;
    }
    return;
  }
  constexpr int64_t kPiece = 64;
  double terms[kPiece];
  for (int64_t start = 0; start < count; start += kPiece) {
    const int64_t size = std::min(kPiece, count - start);
    ReadRow(mask.tensor.dtype, row + start * SizeOf(mask.tensor.dtype), size,
            terms);
    for (int64_t j = 0; j < size; ++j) values[start + j] += terms[j];
  }
}

double AddedTerms::Largest(int64_t i, const KeyInterval& keys) const {
  constexpr int64_t kPiece = 256;
  double values[kPiece];
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t first = keys.first; first < keys.last; first += kPiece) {
    const int64_t count = std::min(kPiece, keys.last - first);
    Row(i, first, count, values);
    for (int64_t j = 0; j < count; ++j) largest = std::max(largest, values[j]);
  }
  return std::isfinite(largest) ? largest : 0;
}

}  // namespace locus
