// Helpers of the tasks: random draws, functions of logits, and base classes for
// tasks whose examples are drawn at random.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/random.h"
#include "core/training/task.h"

namespace locus {

// Draws an integer from [low, high], inclusive.
int64_t DrawInteger(RandomStream& stream, int64_t low, int64_t high);

// Fisher-Yates shuffle.
void Shuffle(RandomStream& stream, absl::Span<int32_t> values);

// Returns the logits of target n of an example: [vocabulary_size].
absl::Span<const float> LogitRow(const Example& example,
                                 absl::Span<const float> logits, int64_t n);

// Returns the index of the largest logit; ties go to the first. NaNs are
// ignored. Returns -1 if all logits are NaN.
int32_t Argmax(absl::Span<const float> logits);

// Returns -ln softmax(logits)[token] in nats, computed in double precision. The
// result is at most 1e6, which also replaces NaN.
double NegativeLogLikelihood(absl::Span<const float> logits, int32_t token);

// Returns sum / count, or 0 if count is 0.
double MeanOf(double sum, int64_t count);

// Number of examples of a test: as many as fit into 65,536 tokens, but at least
// 32 and at most max_count, rounded down to a multiple of four.
int64_t TestExampleCount(int64_t length, int64_t max_count);

// Returns INVALID_ARGUMENT with the field `length` if it is below min_length.
absl::Status CheckMinLength(int64_t length, int64_t min_length);

// Base class of tasks whose examples are drawn independently. The lengths of
// training examples are uniform between min_length() and the training length.
class SampledTask : public Task {
 public:
  std::vector<Example> TrainingBatch(uint64_t seed, int64_t step,
                                     int64_t batch_size,
                                     int64_t train_length) const final;
  std::vector<Example> Test(uint64_t seed, int64_t length,
                            int64_t train_length) const final;
  TestSize SizeOfTest(int64_t length, int64_t train_length) const final;
  absl::Status CheckLength(int64_t length) const final;

 protected:
  enum class Use { kTraining, kTest };

  // `name` is part of the names of the random streams, and must outlive the
  // task.
  explicit SampledTask(absl::string_view name, int64_t max_test_count = 256)
      : name_(name), max_test_count_(max_test_count) {}

  // Draws 1, 2 or 4 examples that belong together. They have `length` tokens,
  // or the largest smaller number that the task permits.
  virtual std::vector<Example> Sample(Use use, int64_t length,
                                      RandomStream& stream) const = 0;

  // Number of additional examples of a test with example_count examples.
  virtual int64_t ExtraExampleCount(int64_t example_count) const { return 0; }
  // Draws the additional examples, which follow the others. They have a random
  // stream of their own.
  virtual std::vector<Example> ExtraExamples(int64_t count, int64_t length,
                                             RandomStream& stream) const {
    return {};
  }

 private:
  absl::string_view name_;
  int64_t max_test_count_;
};

// Base class of tasks that are scored by whether the correct token has the
// largest logit. Metrics: exact_match, the share of examples with all targets
// correct; token_accuracy, the share of correct targets. Learned at a
// token_accuracy of 0.9. Chance is one of the tokens that an answer can consist
// of.
//
// If the answer so far is among the tokens (teacher forcing), an example is an
// exact match if and only if greedy decoding produces the whole answer: up to
// its first mistake, the model reads the same tokens.
class TokenTask : public SampledTask {
 public:
  std::unique_ptr<Scorer> MakeScorer(int64_t length,
                                     int64_t train_length) const final;
  LearnedCriterion learned_criterion() const final;

 protected:
  // An answer consists of `answer_token_count` different tokens.
  TokenTask(absl::string_view name, int64_t answer_token_count)
      : SampledTask(name), answer_token_count_(answer_token_count) {}

 private:
  const int64_t answer_token_count_;
};

}  // namespace locus
