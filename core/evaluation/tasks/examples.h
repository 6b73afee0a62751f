// What the tasks share: draws, the reading of logits, and the scaffold of those
// whose examples are drawn at random.
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

// An integer from low to high, both included.
int64_t Draw(RandomStream& stream, int64_t low, int64_t high);

void Shuffle(RandomStream& stream, absl::Span<int32_t> values);

// The row of logits of target n.
absl::Span<const float> LogitRow(const Example& example,
                                 absl::Span<const float> logits, int64_t n);

// The first of the largest; a NaN is never chosen. -1 if there are only NaNs.
int32_t Argmax(absl::Span<const float> logits);

// -ln softmax(logits)[token] in nats, in double precision. At most 1e6, which
// also stands for what is not a number.
double NegativeLogLikelihood(absl::Span<const float> logits, int32_t token);

// `sum / count`, or 0 if there is nothing.
double MeanOf(double sum, int64_t count);

// How many examples a test has: at most `most`, fewer at lengths where that
// would be more than 65,536 tokens, but at least 32. A multiple of four.
int64_t TestCount(int64_t length, int64_t most);

// INVALID_ARGUMENT with the field `length` if it is less than `min_length`.
absl::Status CheckMinLength(int64_t length, int64_t min_length);

// A task whose examples are drawn one by one, of lengths that are uniform
// between min_length and the training length.
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

  // The name is that of the random streams, and outlives the task.
  explicit SampledTask(absl::string_view name, int64_t max_test_count = 256)
      : name_(name), max_test_count_(max_test_count) {}

  // Examples that belong together, 1, 2 or 4 of them, of `length` tokens or the
  // most below that which the task permits.
  virtual std::vector<Example> Sample(Use use, int64_t length,
                                      RandomStream& stream) const = 0;

  // Further questions of a test of so many examples, from a stream of their
  // own, after them.
  virtual int64_t ExtraCount(int64_t example_count) const { return 0; }
  virtual std::vector<Example> Extra(int64_t count, int64_t length,
                                     RandomStream& stream) const {
    return {};
  }

 private:
  absl::string_view name_;
  int64_t max_test_count_;
};

// One that is judged by whether the right token has the largest logit, and
// learned if nine in ten have. Metrics: exact_match, over examples with all
// targets right, and token_accuracy, over targets. Where the answer so far is
// among the tokens (teacher forcing), an example is an exact match if and only
// if the model, left to itself, says the whole answer greedily: up to its first
// mistake it reads the same tokens.
class TokenTask : public SampledTask {
 public:
  std::unique_ptr<Scorer> MakeScorer(int64_t length,
                                     int64_t train_length) const final;
  LearnedWhen learned_when() const final;

 protected:
  using SampledTask::SampledTask;
};

}  // namespace locus
