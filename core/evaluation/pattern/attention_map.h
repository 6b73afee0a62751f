// The attention map of one head, small enough to look at.
#pragma once

#include <cstdint>
#include <vector>

#include "core/evaluation/pattern/head_rows.h"

namespace locus {

// Weights averaged over blocks of keys, query by query, then over blocks of
// queries. Different queries may be set from different threads.
class AttentionMap {
 public:
  // [size, size], size being the smaller of both.
  AttentionMap(int64_t length, int64_t map_size);

  int64_t size() const { return size_; }

  void SetQuery(const QueryRow& row, const std::vector<double>& weights);

  // target: [size, size]
  void Write(float* target) const;

 private:
  const int64_t length_;
  const int64_t size_;
  std::vector<float> rows_;  // [length, size]
};

}  // namespace locus
