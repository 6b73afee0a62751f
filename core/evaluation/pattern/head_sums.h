// What is summed over the queries of a head.
#pragma once

#include <cstdint>
#include <vector>

#include "core/parallel/stopper.h"
#include "core/parallel/thread_pool.h"
#include "core/evaluation/pattern/pattern.h"
#include "core/evaluation/pattern/attention_map.h"
#include "core/evaluation/pattern/head_rows.h"

namespace locus {

struct HeadSums {
  double entropy = 0;
  double entropy_queries = 0;
  double window_mass = 0;
  double distance = 0;
  double queries = 0;
  double near_scores = 0;
  double near_pairs = 0;
  double far_scores = 0;
  double far_pairs = 0;

  void Add(const HeadSums& other);
  void AddQuery(const QueryRow& row, int64_t train_length,
                const std::vector<double>& scores,
                const std::vector<double>& weights);
  double ScoreDrift() const;
};

// One head over all its queries; the map is filled if there is one. Of no worth
// once stopped, as below.
HeadSums SumHead(const PatternCall& call, const HeadRows& rows,
                 AttentionMap* map, ThreadPool& pool, Stopper& stopper);

// Half the sum of what the weights of two heads differ by, the mean over a
// sample of queries.
double HeadDifference(const PatternCall& call, const HeadRows& a,
                      const HeadRows& b, ThreadPool& pool, Stopper& stopper);

}  // namespace locus
