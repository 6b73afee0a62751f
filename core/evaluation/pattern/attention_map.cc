#include "core/evaluation/pattern/attention_map.h"

#include <algorithm>

#include "core/evaluation/pattern/parts.h"

namespace locus {

AttentionMap::AttentionMap(int64_t length, int64_t map_size)
    : length_(length),
      size_(std::min(length, map_size)),
      rows_(length * size_) {}

void AttentionMap::SetQuery(const QueryRow& row,
                            const std::vector<double>& weights) {
  for (int64_t column = 0; column < size_; ++column) {
    const int64_t first = PartStart(column, length_, size_);
    const int64_t last = PartStart(column + 1, length_, size_);
    double sum = 0;
    for (int64_t j = first; j < std::min(last, row.visible); ++j) {
      sum += weights[j];
    }
    rows_[row.query * size_ + column] =
        static_cast<float>(sum / static_cast<double>(last - first));
  }
}

void AttentionMap::Write(float* target) const {
  for (int64_t row = 0; row < size_; ++row) {
    const int64_t first = PartStart(row, length_, size_);
    const int64_t last = PartStart(row + 1, length_, size_);
    for (int64_t column = 0; column < size_; ++column) {
      double sum = 0;
      for (int64_t i = first; i < last; ++i) sum += rows_[i * size_ + column];
      target[row * size_ + column] =
          static_cast<float>(sum / static_cast<double>(last - first));
    }
  }
}

}  // namespace locus
