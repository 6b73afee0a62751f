#include "core/attention/tiled/score_terms.h"

#include <algorithm>

namespace locus {

void ScoreTerms::Row(int64_t i, int64_t first, int64_t count,
                     double* values) const {
  if (with_bias_) {
    problem_.bias->Row(h_, problem_.query_positions[i], problem_.key_positions,
                       first, count, values);
  } else {
    std::fill_n(values, count, 0.0);
  }
  if (problem_.mask) AddMask(i, first, count, values);
}

void ScoreTerms::AddMask(int64_t i, int64_t first, int64_t count,
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
  constexpr int64_t kBufferSize = 64;
  double terms[kBufferSize];
  for (int64_t start = 0; start < count; start += kBufferSize) {
    const int64_t size = std::min(kBufferSize, count - start);
    ReadRow(mask.tensor.dtype, row + start * SizeOf(mask.tensor.dtype), size,
            terms);
    for (int64_t j = 0; j < size; ++j) values[start + j] += terms[j];
  }
}

double ScoreTerms::Max(int64_t i, const KeyInterval& keys) const {
  constexpr int64_t kBufferSize = 256;
  double values[kBufferSize];
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t first = keys.begin; first < keys.end; first += kBufferSize) {
    const int64_t count = std::min(kBufferSize, keys.end - first);
    Row(i, first, count, values);
    for (int64_t j = 0; j < count; ++j) max = std::max(max, values[j]);
  }
  return std::isfinite(max) ? max : 0;
}

}  // namespace locus
