// Tests of which keys a query sees. The kernels and the float64 reference share
// AttentionProblem::VisibleKeys(), so that comparing them with each other does
// not find a mistake in it. These tests compare it with the documented rules,
// one pair of a query and a key at a time.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "core/attention/problem.h"
#include "tests/core/attention/reference_comparison.h"

namespace locus {
namespace {

using testing::MustCreate;
using testing::Problem;
using testing::Values;

// The options that decide which keys are visible.
struct Rules {
  int64_t query_count = 1;
  int64_t key_count = 1;
  bool causal = false;
  int64_t window = 0;
  // At most one of these is set. Query 0 has index 0 by default.
  std::optional<int64_t> query_offset;
  bool bottom_right = false;

  std::string ToString() const {
    return absl::StrCat(query_count, " queries, ", key_count, " keys, causal ",
                        causal, ", window ", window, ", query_offset ",
                        query_offset ? absl::StrCat(*query_offset) : "unset",
                        ", bottom_right ", bottom_right);
  }
};

// The rules of attention.proto: query i is at index query_offset + i and key j
// at index j. Without causal, the window extends to both sides.
bool IsVisible(const Rules& rules, int64_t i, int64_t j) {
  int64_t query_index = i;
  if (rules.query_offset) query_index = *rules.query_offset + i;
  // The last query is aligned with the last key.
  if (rules.bottom_right) {
    query_index = rules.key_count - 1 - (rules.query_count - 1 - i);
  }
  if (rules.causal && j > query_index) return false;
  const int64_t distance = std::abs(query_index - j);
  return rules.window == 0 || distance < rules.window;
}

Rules RandomRules(std::mt19937& random, int64_t max_count) {
  const auto draw = [&random](int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random);
  };
  Rules rules{.query_count = draw(1, max_count),
              .key_count = draw(1, max_count),
              .causal = draw(0, 1) == 1};
  if (draw(0, 2) > 0) rules.window = draw(1, rules.key_count + 3);
  switch (draw(0, 2)) {
    case 0:
      rules.query_offset = draw(-max_count - 2, max_count + 2);
      break;
    case 1:
      rules.bottom_right = true;
      break;
    default:
      break;
  }
  return rules;
}

TEST(VisibilityTest, VisibleKeysFollowTheRules) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    const Rules rules = RandomRules(random, 12);
    AttentionProblem problem;
    problem.query_count = rules.query_count;
    problem.key_count = rules.key_count;
    problem.causal = rules.causal;
    problem.window = rules.window;
    problem.query_offset = rules.bottom_right
                               ? rules.key_count - rules.query_count
                               : rules.query_offset.value_or(0);
    for (int64_t i = 0; i < rules.query_count; ++i) {
      const KeyInterval visible = problem.VisibleKeys(i);
      ASSERT_GE(visible.begin, 0) << rules.ToString();
      ASSERT_LE(visible.end, rules.key_count) << rules.ToString();
      for (int64_t j = 0; j < rules.key_count; ++j) {
        ASSERT_EQ(j >= visible.begin && j < visible.end, IsVisible(rules, i, j))
            << "query " << i << ", key " << j << ": " << rules.ToString();
      }
    }
  }
}

// Expects a weight above 0 for each visible key and 0 for all others.
void ExpectWeightsFollow(const Rules& rules, const Tensor& weights) {
  const std::vector<double> values = Values(weights);
  for (int64_t i = 0; i < rules.query_count; ++i) {
    for (int64_t j = 0; j < rules.key_count; ++j) {
      ASSERT_EQ(values[i * rules.key_count + j] > 0, IsVisible(rules, i, j))
          << "query " << i << ", key " << j << ": " << rules.ToString();
    }
  }
}

TEST(VisibilityTest, WeightsOfKernelsAndReferenceFollowTheRules) {
  std::mt19937 random(2);
  ThreadPool pool(2);
  const auto scheme = MakeScheme(*FindScheme("none"), {});
  ASSERT_TRUE(scheme.ok());
  for (int trial = 0; trial < 300; ++trial) {
    // Larger problems have several tiles.
    const Rules rules = RandomRules(random, trial < 250 ? 20 : 300);
    const Problem problem(
        {.queries = rules.query_count, .keys = rules.key_count},
        DType::kFloat32, trial);
    AttentionOptions options;
    options.causal = rules.causal;
    options.window = rules.window;
    options.query_offset = rules.query_offset;
    options.bottom_right = rules.bottom_right;
    options.return_weights = true;
    const AttentionJob job = MustCreate(**scheme, problem, options);
    const auto outputs = job.Run(pool, nullptr);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    ExpectWeightsFollow(rules, *outputs->weights);
    ExpectWeightsFollow(rules, *job.RunReference().weights);
  }
}

}  // namespace
}  // namespace locus
