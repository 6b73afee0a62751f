// What one head attends to, query by query.
#pragma once

#include <cstdint>
#include <vector>

#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/evaluation/pattern/projections.h"

namespace locus {

// The biases of one head, looked up where they depend on the offset alone.
class HeadBias {
 public:
  // Null: no bias.
  HeadBias(const ScoreBias* bias, int64_t head, int64_t length, bool causal);

  double At(int64_t query, int64_t key) const {
    if (bias_ == nullptr) return 0;
    if (by_offset_.empty()) return bias_->At(head_, query, key);
    return by_offset_[query - key + length_ - 1];
  }

 private:
  const ScoreBias* const bias_;
  const int64_t head_;
  const int64_t length_;
  std::vector<double> by_offset_;
};

// A query and what it sees.
struct QueryRow {
  int64_t query;
  int64_t visible;
  double log_sum_exp;
};

// Thread-safe. The projections must outlive it.
class HeadRows {
 public:
  HeadRows(const PatternCall& call, const Projections& projections,
           const ScoreBias* bias, int64_t head);

  // Fills scores and weights of the keys that a query sees, the first ones.
  // Both have room for all keys.
  QueryRow Attend(int64_t query, std::vector<double>& scores,
                  std::vector<double>& weights) const;

 private:
  const int64_t length_;
  const bool causal_;
  const int64_t head_dim_;
  const int64_t first_channel_;
  const Projections& projections_;
  const HeadBias bias_;
};

}  // namespace locus
