// Helpers of the task tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/evaluation/tasks/agreement.h"
#include "core/evaluation/tasks/copy.h"
#include "core/evaluation/tasks/corpus.h"
#include "core/evaluation/tasks/examples.h"
#include "core/evaluation/tasks/ordering.h"
#include "core/evaluation/tasks/recall.h"
#include "core/evaluation/tasks/tasks.h"
#include "core/evaluation/tasks/text.h"
#include "core/parallel/thread_pool.h"
#include "core/training/trainer.h"
#include "tests/support/core_testing.h"

namespace locus::testing {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline std::unique_ptr<Task> MustMakeTask(absl::string_view name,
                                          std::string corpus = "") {
  auto task = MakeTask(name, std::move(corpus));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

inline std::unique_ptr<Task> MustMakeText(std::string corpus) {
  return MustMakeTask("text", std::move(corpus));
}

// A text of consecutive numbers, in which windows of a dozen bytes are unique.
inline std::string NumberedText(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) absl::StrAppend(&text, i, "\n");
  text.resize(size);
  return text;
}

// Text form of examples, for comparisons.
inline std::string Flat(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) {
    for (const int32_t token : example.tokens)
      absl::StrAppend(&text, token, " ");
    for (const Target& target : example.targets) {
      absl::StrAppend(&text, target.index, ":", target.token, " ");
    }
    text += "\n";
  }
  return text;
}

// Logits with one row per target: `on` for the token that predict(target)
// returns, 0 for all others.
template <typename Predict>
std::vector<float> Logits(const Task& task, const Example& example,
                          Predict predict, float on = 1) {
  std::vector<float> logits(example.targets.size() * task.vocabulary_size());
  for (size_t n = 0; n < example.targets.size(); ++n) {
    logits[n * task.vocabulary_size() + predict(example.targets[n])] = on;
  }
  return logits;
}

// Metrics of a model that predicts predict(target) at every target.
inline std::map<std::string, double> Score(const Task& task, int64_t length,
                                           auto predict,
                                           int64_t train_length = 64,
                                           float on = 1) {
  auto scorer = task.MakeScorer(length, train_length);
  for (const Example& example : task.Test(1, length, train_length)) {
    scorer->Add(example, Logits(task, example, predict, on));
  }
  return scorer->Metrics();
}

// Predicts the correct token.
inline int32_t Oracle(const Target& target) { return target.token; }

}  // namespace locus::testing
