// Interface of the tasks that small transformers are trained on.
//
// A task generates examples and scores a model's answers; it does not depend on
// models. Each task is one file in core/evaluation/tasks and one line in
// tasks.cc. A length is the total number of tokens that a model reads, so that
// a task of length n needs n positions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace locus {

// `token` is the correct prediction of a model after it has read
// tokens[index]. A causal model has read nothing beyond that token.
struct Target {
  int32_t index;
  int32_t token;
};

struct Example {
  std::vector<int32_t> tokens;
  std::vector<Target> targets;  // ascending by index
};

// Total number of targets of all examples.
inline int64_t TargetCount(absl::Span<const Example> examples) {
  int64_t count = 0;
  for (const Example& example : examples) {
    count += static_cast<int64_t>(example.targets.size());
  }
  return count;
}

// Computes metrics from a model's logits for the examples of one test.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // Adds the logits of one example: [targets, vocabulary_size]. Examples must
  // be added in the order of the test.
  virtual void Add(const Example& example, absl::Span<const float> logits) = 0;
  // Metrics by name. All values are finite, even if logits were not.
  virtual std::map<std::string, double> Metrics() const = 0;
};

// A model has learned a task if its metric at the training length reaches the
// threshold: from below if higher is better, otherwise from above.
struct LearnedCriterion {
  absl::string_view metric;
  bool higher_is_better = true;
  double threshold = 0;
  // Value of the metric without any knowledge of the sequence, and its name in
  // verdicts.
  double chance = 0;
  absl::string_view chance_name = "chance";

  // Whether a value is better than another one.
  bool IsBetter(double a, double b) const {
    return higher_is_better ? a > b : a < b;
  }
};

// Upper bounds of the size of a test.
struct TestSize {
  int64_t example_count = 0;
  int64_t targets_per_example = 0;
};

// Immutable and thread-safe. Results depend on the arguments only.
class Task {
 public:
  virtual ~Task() = default;

  virtual int64_t vocabulary_size() const = 0;
  // Whether models may attend to the whole sequence. Tasks whose answers are
  // among the tokens require causal models.
  virtual bool is_bidirectional() const { return false; }
  // Whether one model is trained per seed, with the first scheme, and tested
  // with all schemes.
  virtual bool trains_once() const { return false; }
  virtual int64_t default_step_count() const = 0;
  virtual int64_t default_train_length() const { return 32; }
  // Default lengths of tests, in increasing order.
  virtual std::vector<int64_t> DefaultEvalLengths(int64_t train_length) const {
    return {train_length, 2 * train_length, 4 * train_length, 8 * train_length};
  }
  // Minimum length of a sequence.
  virtual int64_t min_length() const = 0;

  // Returns the batch of one training step: batch_size sequences of at most
  // train_length tokens. Requires train_length >= min_length().
  virtual std::vector<Example> TrainingBatch(uint64_t seed, int64_t step,
                                             int64_t batch_size,
                                             int64_t train_length) const = 0;
  // Returns the test at a length; results at different lengths are comparable.
  // Sequences have `length` tokens, or the largest smaller number that the
  // structure of the task permits.
  virtual std::vector<Example> Test(uint64_t seed, int64_t length,
                                    int64_t train_length) const = 0;
  // Returns the size of Test() without generating it.
  virtual TestSize SizeOfTest(int64_t length, int64_t train_length) const = 0;
  virtual std::unique_ptr<Scorer> MakeScorer(int64_t length,
                                             int64_t train_length) const = 0;
  virtual LearnedCriterion learned_criterion() const = 0;
  // Returns OK if the task can be trained and tested at a length. Otherwise the
  // error names the task's corpus, such as `text.corpus`, if that is too short,
  // or `length` if it is below min_length().
  virtual absl::Status CheckLength(int64_t length) const = 0;
};

}  // namespace locus
