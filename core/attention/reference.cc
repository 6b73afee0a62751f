// Reference implementation of attention: evaluates the definition in double
// precision, without optimisations. Tests compare the kernels with it, and
// compare it with golden results of other implementations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/attention/problem.h"

namespace locus {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::vector<double> RotatedRow(const AttentionProblem& problem,
                               const std::optional<Rotation>& rotation,
                               const TensorView& tensor, int64_t element,
                               int64_t position) {
  std::vector<double> row(problem.dim);
  ReadRow(tensor.dtype, tensor.at(element), problem.dim, row.data());
  if (rotation) {
    std::vector<double> cos(rotation->pair_count());
    std::vector<double> sin(rotation->pair_count());
    rotation->Angles(position, cos.data(), sin.data());
    rotation->Apply(cos.data(), sin.data(), row.data());
  }
  return row;
}

// Scores of query i and all keys; -inf for hidden keys.
std::vector<double> Scores(const AttentionProblem& problem, int64_t b,
                           int64_t h, int64_t i) {
  const std::vector<double> query =
      RotatedRow(problem, problem.rotation, problem.inputs.q,
                 problem.QueryRow(b, h, i), problem.query_positions[i]);
  std::optional<Rotation> key_rotation;
  if (problem.rotation) key_rotation = problem.rotation->OfKeys();
  const KeyInterval visible = problem.VisibleKeys(i);
  std::vector<double> scores(problem.key_count, kHidden);
  for (int64_t j = visible.begin; j < visible.end; ++j) {
    const double mask = problem.mask ? problem.mask->At(b, h, i, j) : 0;
    if (mask == kHidden) continue;
    const std::vector<double> key = RotatedRow(
        problem, key_rotation, problem.inputs.k,
        problem.KeyRow(b, problem.KeyHead(h), j), problem.key_positions[j]);
    double score = 0;
    for (int64_t d = 0; d < problem.dim; ++d) score += query[d] * key[d];
    score *= problem.scale;
    if (problem.softcap > 0) {
      score = problem.softcap * std::tanh(score / problem.softcap);
    }
    if (problem.bias) {
      score += problem.bias->At(h, problem.query_positions[i],
                                problem.key_positions[j]);
    }
    scores[j] = score + mask;
  }
  return scores;
}

// Replaces scores by softmax weights and returns the log-sum-exp. The weight of
// a hidden key is 0 even if a visible score is NaN.
double Softmax(std::vector<double>& scores) {
  double max = kHidden;
  bool has_nan = false;
  for (const double score : scores) {
    max = std::fmax(max, score);
    has_nan |= std::isnan(score);
  }
  if (max == kHidden && !has_nan) {
    std::fill(scores.begin(), scores.end(), 0.0);
    return kHidden;
  }
  double sum = 0;
  for (const double score : scores) {
    if (score != kHidden) sum += std::exp(score - max);
  }
  for (double& score : scores) {
    score = score == kHidden ? 0 : std::exp(score - max) / sum;
  }
  return max + std::log(sum);
}

void AttendRow(const AttentionProblem& problem, int64_t b, int64_t h, int64_t i,
               AttentionOutputs& out) {
  std::vector<double> weights = Scores(problem, b, h, i);
  std::vector<bool> visible(weights.size());
  for (size_t j = 0; j < weights.size(); ++j) {
    visible[j] = weights[j] != kHidden;
  }
  const double log_sum_exp = Softmax(weights);

  std::vector<double> output(problem.value_dim, 0.0);
  std::vector<double> value(problem.value_dim);
  for (int64_t j = 0; j < problem.key_count; ++j) {
    if (!visible[j]) continue;
    ReadRow(problem.inputs.v.dtype,
            problem.inputs.v.at(problem.ValueRow(b, problem.KeyHead(h), j)),
            problem.value_dim, value.data());
    for (int64_t c = 0; c < problem.value_dim; ++c) {
      output[c] += weights[j] * value[c];
    }
  }

  WriteRow(problem.dtype, output.data(), problem.value_dim,
           out.output.at(problem.OutputRow(b, h, i)));
  const int64_t query = problem.QueryIndex(b, h, i);
  if (out.weights) {
    WriteRow(problem.wide_dtype, weights.data(), problem.key_count,
             out.weights->at(query * problem.key_count));
  }
  if (out.log_sum_exp) {
    WriteRow(problem.wide_dtype, &log_sum_exp, 1, out.log_sum_exp->at(query));
  }
}

}  // namespace

void AttendReference(const AttentionProblem& problem, AttentionOutputs& out) {
  for (int64_t b = 0; b < problem.batch_count; ++b) {
    for (int64_t h = 0; h < problem.query_head_count; ++h) {
      for (int64_t i = 0; i < problem.query_count; ++i) {
        AttendRow(problem, b, h, i, out);
      }
    }
  }
}

}  // namespace locus
