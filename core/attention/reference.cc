// The slow twin: what attention is, with nothing done for speed. The kernel is
// tested against it, and it is tested against goldens from elsewhere.
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

// Scores of query i against all keys; -inf where it does not see the key.
std::vector<double> Scores(const AttentionProblem& problem, int64_t b,
                           int64_t h, int64_t i) {
  const std::vector<double> query =
      RotatedRow(problem, problem.rotation, problem.inputs.q,
                 problem.QueryRow(b, h, i), problem.query_positions[i]);
  std::optional<Rotation> of_keys;
  if (problem.rotation) of_keys = problem.rotation->OfKeys();
  const KeyInterval visible = problem.VisibleKeys(i);
  std::vector<double> scores(problem.key_count, kHidden);
  for (int64_t j = visible.first; j < visible.last; ++j) {
    const double added = problem.mask ? problem.mask->At(b, h, i, j) : 0;
    if (added == kHidden) continue;
    const std::vector<double> key = RotatedRow(
        problem, of_keys, problem.inputs.k,
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
    scores[j] = score + added;
  }
  return scores;
}

// Turns scores into weights, in place; returns ln sum exp. A key that is not
// seen has weight 0 even where what is seen is not a number.
double Softmax(std::vector<double>& scores) {
  double largest = kHidden;
  bool sees_nan = false;
  for (const double score : scores) {
    largest = std::fmax(largest, score);
    sees_nan |= std::isnan(score);
  }
  if (largest == kHidden && !sees_nan) {
    std::fill(scores.begin(), scores.end(), 0.0);
    return kHidden;
  }
  double sum = 0;
  for (const double score : scores) {
    if (score != kHidden) sum += std::exp(score - largest);
  }
  for (double& score : scores) {
    score = score == kHidden ? 0 : std::exp(score - largest) / sum;
  }
  return largest + std::log(sum);
}

void AttendRow(const AttentionProblem& problem, int64_t b, int64_t h, int64_t i,
               AttentionOutputs& out) {
  std::vector<double> weights = Scores(problem, b, h, i);
  std::vector<bool> seen(weights.size());
  for (size_t j = 0; j < weights.size(); ++j) seen[j] = weights[j] != kHidden;
  const double log_sum_exp = Softmax(weights);

  std::vector<double> output(problem.value_dim, 0.0);
  std::vector<double> value(problem.value_dim);
  for (int64_t j = 0; j < problem.key_count; ++j) {
    if (!seen[j]) continue;
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
