// What a small transformer is trained to do.
//
// A task makes examples and judges answers; it knows nothing of models. Each
// task is one file in core/evaluation/tasks and one line in tasks.cc. Lengths
// count all tokens that a model reads, so that a task's length is the number of
// positions it needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace locus {

// After reading tokens[index] (and, if causal, nothing after it), the model
// should say `token`.
struct Target {
  int32_t index;
  int32_t token;
};

struct Example {
  std::vector<int32_t> tokens;
  std::vector<Target> targets;  // by index, ascending
};

// Collects the answers to a test.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // logits: [targets, vocabulary_size]. Examples come in the order of the test.
  virtual void Add(const Example& example, absl::Span<const float> logits) = 0;
  // By name. Finite whatever was added.
  virtual std::map<std::string, double> Metrics() const = 0;
};

// When a model has learned a task: its metric at the training length reaches
// the threshold, from below if more is better.
struct LearnedWhen {
  absl::string_view metric;
  bool more_is_better = true;
  double threshold = 0;
};

// How large a test is at most.
struct TestSize {
  int64_t example_count = 0;
  int64_t targets_per_example = 0;
};

// Immutable and thread-safe. Everything is the same for the same arguments.
class Task {
 public:
  virtual ~Task() = default;

  virtual int64_t vocabulary_size() const = 0;
  // Whether models that see the whole sequence at once suit the task.
  virtual bool is_bidirectional() const { return false; }
  // Whether one model, trained with the first scheme, is tested with all.
  virtual bool trains_once() const { return false; }
  virtual int64_t default_step_count() const = 0;
  // The shortest sequence that makes sense.
  virtual int64_t min_length() const = 0;

  // The batch of a training step: batch_size sequences of at most train_length
  // tokens, which is at least min_length.
  virtual std::vector<Example> TrainingBatch(uint64_t seed, int64_t step,
                                             int64_t batch_size,
                                             int64_t train_length) const = 0;
  // The test at a length; comparable between lengths. Sequences have `length`
  // tokens, or the most below that which the task's structure permits.
  virtual std::vector<Example> Test(uint64_t seed, int64_t length,
                                    int64_t train_length) const = 0;
  // What Test makes, without making it.
  virtual TestSize SizeOfTest(int64_t length, int64_t train_length) const = 0;
  virtual std::unique_ptr<Scorer> MakeScorer(int64_t length,
                                             int64_t train_length) const = 0;
  virtual LearnedWhen learned_when() const = 0;
  // OK if the task can be trained or tested at that length: a corpus can be too
  // short for it. Fields in errors are the task's corpus, such as
  // `text.corpus`, or `length` if it is less than min_length.
  virtual absl::Status CheckLength(int64_t length) const = 0;
};

// `corpus` is used by the tasks text and retrofit; empty: the built-in one.
// Fields in errors are relative to the contract's TrainedMode, such as
// `text.corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeTask(absl::string_view name,
                                               std::string corpus);

// All names, in the order of the contract.
absl::Span<const absl::string_view> TaskNames();

}  // namespace locus
