// Sums of attention statistics over the queries of one head.
#pragma once

#include <cstdint>
#include <vector>

#include "core/evaluation/pattern/attention_map.h"
#include "core/evaluation/pattern/head_attention.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/parallel/cancellation.h"
#include "core/parallel/thread_pool.h"

namespace locus {

// Sums from which the metrics of pattern.h are computed.
struct HeadSums {
  double entropy = 0;          // relative to the logarithm of visible keys
  double entropy_queries = 0;  // queries with more than one visible key
  double window_mass = 0;
  double distance = 0;
  double queries = 0;
  double near_scores = 0;  // pairs at distances below the training length
  double near_pairs = 0;
  double far_scores = 0;  // pairs at distances of the training length or more
  double far_pairs = 0;

  void Add(const HeadSums& other);
  void AddQuery(const QueryRow& row, int64_t train_length,
                const std::vector<double>& scores,
                const std::vector<double>& weights);
  // Absolute difference of the mean scores of far and near pairs; 0 if there
  // are no far pairs.
  double ScoreDrift() const;
};

// Sums the statistics of one head over all queries, and fills `map` unless it
// is null. The result is incomplete after a cancellation.
HeadSums SumHead(const PatternCase& pattern_case, const HeadAttention& head,
                 AttentionMap* map, ThreadPool& pool,
                 CancellationState& cancellation);

// Total variation distance of the attention weights of two heads, averaged over
// a sample of queries. The result is incomplete after a cancellation.
double HeadDifference(const PatternCase& pattern_case, const HeadAttention& a,
                      const HeadAttention& b, ThreadPool& pool,
                      CancellationState& cancellation);

}  // namespace locus
