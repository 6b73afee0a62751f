#include "core/evaluation/pattern/head_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/evaluation/pattern/parts.h"

namespace locus {

void HeadSums::Add(const HeadSums& other) {
  entropy += other.entropy;
  entropy_queries += other.entropy_queries;
  window_mass += other.window_mass;
  distance += other.distance;
  queries += other.queries;
  near_scores += other.near_scores;
  near_pairs += other.near_pairs;
  far_scores += other.far_scores;
  far_pairs += other.far_pairs;
}

void HeadSums::AddQuery(const QueryRow& row, int64_t train_length,
                        const std::vector<double>& scores,
                        const std::vector<double>& weights) {
  const int64_t window = std::max<int64_t>(train_length / 2, 1);
  double nats = 0;
  for (int64_t j = 0; j < row.visible; ++j) {
    const int64_t distance_to_key = std::abs(row.query - j);
    // -ln(weight), computed so that weights of zero do not give infinity.
    nats += weights[j] * (row.log_sum_exp - scores[j]);
    if (distance_to_key < window) window_mass += weights[j];
    distance += weights[j] * static_cast<double>(distance_to_key);
    const bool near = distance_to_key < train_length;
    (near ? near_scores : far_scores) += scores[j];
    (near ? near_pairs : far_pairs) += 1;
  }
  queries += 1;
  if (row.visible < 2) return;
  entropy += std::max(nats, 0.0) / std::log(static_cast<double>(row.visible));
  entropy_queries += 1;
}

double HeadSums::ScoreDrift() const {
  if (far_pairs == 0) return 0;
  return std::abs(far_scores / far_pairs - near_scores / near_pairs);
}

HeadSums SumHead(const PatternCase& pattern_case, const HeadAttention& head,
                 AttentionMap* map, ThreadPool& pool,
                 CancellationState& cancellation) {
  const int64_t length = pattern_case.eval_length;
  std::vector<HeadSums> parts(kPatternParts);
  pool.ParallelFor(kPatternParts, [&](int64_t part) {
    std::vector<double> scores(length);
    std::vector<double> weights(length);
    ForEachInPart(part, length, cancellation, [&](int64_t query) {
      const QueryRow row = head.Attend(query, scores, weights);
      parts[part].AddQuery(row, pattern_case.train_length, scores, weights);
      if (map != nullptr) map->SetQuery(row, weights);
    });
  });
  HeadSums sums;
  for (const HeadSums& part : parts) sums.Add(part);
  return sums;
}

double HeadDifference(const PatternCase& pattern_case, const HeadAttention& a,
                      const HeadAttention& b, ThreadPool& pool,
                      CancellationState& cancellation) {
  const int64_t length = pattern_case.eval_length;
  const int64_t count = std::min(length, kMaxSampled);
  std::vector<double> differences(count);
  pool.ParallelFor(kPatternParts, [&](int64_t part) {
    std::vector<double> scores(length);
    std::vector<double> weights_a(length);
    std::vector<double> weights_b(length);
    ForEachInPart(part, count, cancellation, [&](int64_t n) {
      const int64_t query = PartStart(n + 1, length, count) - 1;
      const int64_t visible = a.Attend(query, scores, weights_a).visible;
      b.Attend(query, scores, weights_b);
      for (int64_t j = 0; j < visible; ++j) {
        differences[n] += std::abs(weights_a[j] - weights_b[j]) / 2;
      }
    });
  });
  double sum = 0;
  for (const double difference : differences) sum += difference;
  return sum / static_cast<double>(count);
}

}  // namespace locus
