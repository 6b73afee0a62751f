// Attention map of one head, averaged over blocks to a size that can be
// plotted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/evaluation/pattern/head_attention.h"

namespace locus {

// Averages attention weights over blocks of keys, query by query, and then over
// blocks of queries. SetQuery() may be called from several threads for
// different queries.
class AttentionMap {
 public:
  // The map has size [min(length, map_size), min(length, map_size)].
  AttentionMap(int64_t length, int64_t map_size);

  int64_t size() const { return size_; }

  void SetQuery(const QueryRow& row, const std::vector<double>& weights);

  // Writes the map to target: [size, size]. All queries must have been set.
  void Write(float* target) const;

 private:
  const int64_t length_;
  const int64_t size_;
  std::vector<float> rows_;  // [length, size]
};

}  // namespace locus
