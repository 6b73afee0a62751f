// Attention scores and weights of one head, query by query.
#pragma once

#include <cstdint>
#include <vector>

#include "core/encoding/scheme.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/evaluation/pattern/projections.h"

namespace locus {

// Biases of one head. Biases that depend on the offset alone are tabulated.
class HeadBias {
 public:
  // A null `bias` means no bias. Otherwise it must outlive this object.
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

// Attention of one query to the keys 0 to visible - 1.
struct QueryRow {
  int64_t query;
  int64_t visible;
  double log_sum_exp;
};

// Thread-safe. The projections and the bias must outlive it.
class HeadAttention {
 public:
  HeadAttention(const PatternCase& pattern_case, const Projections& projections,
                const ScoreBias* bias, int64_t head);

  // Computes the scores and weights of a query for its visible keys. Both
  // vectors must have room for all keys.
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
