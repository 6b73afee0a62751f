#include "core/evaluation/pattern/head_attention.h"

#include <algorithm>
#include <cmath>

namespace locus {
namespace {

// Scores are clamped to this magnitude, to keep exponentials and sums finite.
constexpr double kMaxScore = 1e290;

}  // namespace

HeadBias::HeadBias(const ScoreBias* bias, int64_t head, int64_t length,
                   bool causal)
    : bias_(bias), head_(head), length_(length) {
  if (bias == nullptr || !bias->depends_on_offset_alone()) return;
  by_offset_.resize(2 * length - 1);
  for (int64_t n = causal ? 0 : 1 - length; n < length; ++n) {
    by_offset_[n + length - 1] =
        bias->At(head, std::max<int64_t>(n, 0), std::max<int64_t>(-n, 0));
  }
}

HeadAttention::HeadAttention(const PatternCase& pattern_case,
                             const Projections& projections,
                             const ScoreBias* bias, int64_t head)
    : length_(pattern_case.eval_length),
      causal_(pattern_case.settings.causal),
      head_dim_(pattern_case.settings.dim / pattern_case.settings.head_count),
      first_channel_(head * head_dim_),
      projections_(projections),
      bias_(bias, head, pattern_case.eval_length,
            pattern_case.settings.causal) {}

QueryRow HeadAttention::Attend(int64_t query, std::vector<double>& scores,
                               std::vector<double>& weights) const {
  const int64_t visible = causal_ ? query + 1 : length_;
  const double scale = 1 / std::sqrt(static_cast<double>(head_dim_));
  std::fill_n(scores.begin(), visible, 0.0);
  for (int64_t c = first_channel_; c < first_channel_ + head_dim_; ++c) {
    const double q = projections_.q(query, c) * scale;
    const double* const k = &projections_.k(c, 0);
    for (int64_t j = 0; j < visible; ++j) scores[j] += q * k[j];
  }
  double largest = -kMaxScore;
  for (int64_t j = 0; j < visible; ++j) {
    scores[j] =
        std::clamp(scores[j] + bias_.At(query, j), -kMaxScore, kMaxScore);
    largest = std::max(largest, scores[j]);
  }
  double sum = 0;
  for (int64_t j = 0; j < visible; ++j) {
    weights[j] = std::exp(scores[j] - largest);
    sum += weights[j];
  }
  for (int64_t j = 0; j < visible; ++j) weights[j] /= sum;
  return {query, visible, largest + std::log(sum)};
}

}  // namespace locus
