#include "core/evaluation/tasks/examples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace locus {
namespace {

// Computes exact_match and token_accuracy.
class TokenScorer final : public Scorer {
 public:
  void Add(const Example& example, absl::Span<const float> logits) override {
    const int64_t target_count = static_cast<int64_t>(example.targets.size());
    int64_t correct_count = 0;
    for (int64_t n = 0; n < target_count; ++n) {
      correct_count +=
          Argmax(LogitRow(example, logits, n)) == example.targets[n].token;
    }
    target_count_ += target_count;
    correct_target_count_ += correct_count;
    ++example_count_;
    correct_example_count_ += correct_count == target_count;
  }

  std::map<std::string, double> Metrics() const override {
    return {{"exact_match", MeanOf(correct_example_count_, example_count_)},
            {"token_accuracy", MeanOf(correct_target_count_, target_count_)}};
  }

 private:
  int64_t example_count_ = 0;
  int64_t correct_example_count_ = 0;
  int64_t target_count_ = 0;
  int64_t correct_target_count_ = 0;
};

}  // namespace

int64_t DrawInteger(RandomStream& stream, int64_t low, int64_t high) {
  // Uniform() has 53 bits, so that the bias is below 1e-9 for ranges of tasks.
  return low + static_cast<int64_t>(stream.Uniform() *
                                    static_cast<double>(high - low + 1));
}

void Shuffle(RandomStream& stream, absl::Span<int32_t> values) {
  for (int64_t i = static_cast<int64_t>(values.size()) - 1; i > 0; --i) {
    std::swap(values[i], values[DrawInteger(stream, 0, i)]);
  }
}

absl::Span<const float> LogitRow(const Example& example,
                                 absl::Span<const float> logits, int64_t n) {
  const size_t vocabulary_size = logits.size() / example.targets.size();
  return logits.subspan(n * vocabulary_size, vocabulary_size);
}

int32_t Argmax(absl::Span<const float> logits) {
  int32_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    if (best < 0 || logits[i] > logits[best]) best = static_cast<int32_t>(i);
  }
  return best;
}

double NegativeLogLikelihood(absl::Span<const float> logits, int32_t token) {
  constexpr double kMaxNll = 1e6;
  double largest = logits[token];
  for (const float logit : logits) {
    largest = std::max(largest, static_cast<double>(logit));
  }
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double nll = largest - logits[token] + std::log(sum);
  return nll < kMaxNll ? nll : kMaxNll;
}

double MeanOf(double sum, int64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

int64_t TestExampleCount(int64_t length, int64_t max_count) {
  constexpr int64_t kMaxTestTokens = 65536;
  constexpr int64_t kMinExamples = 32;
  return std::clamp(kMaxTestTokens / length, kMinExamples, max_count) / 4 * 4;
}

absl::Status CheckMinLength(int64_t length, int64_t min_length) {
  if (length >= min_length) return absl::OkStatus();
  return InvalidField(
      "length",
      absl::StrCat(length, " tokens; the task needs at least ", min_length));
}

std::vector<Example> SampledTask::TrainingBatch(uint64_t seed, int64_t step,
                                                int64_t batch_size,
                                                int64_t train_length) const {
  RandomStream stream(seed,
                      absl::StrCat("evaluation.", name_, ".train/", step));
  std::vector<Example> batch;
  while (static_cast<int64_t>(batch.size()) < batch_size) {
    const int64_t length = DrawInteger(stream, min_length(), train_length);
    for (Example& example : Sample(Use::kTraining, length, stream)) {
      batch.push_back(std::move(example));
    }
  }
  batch.resize(batch_size);
  return batch;
}

std::vector<Example> SampledTask::Test(uint64_t seed, int64_t length,
                                       int64_t train_length) const {
  RandomStream stream(seed,
                      absl::StrCat("evaluation.", name_, ".test/", length));
  const int64_t count = TestExampleCount(length, max_test_count_);
  std::vector<Example> examples;
  while (static_cast<int64_t>(examples.size()) < count) {
    for (Example& example : Sample(Use::kTest, length, stream)) {
      examples.push_back(std::move(example));
    }
  }
  RandomStream extra_stream(
      seed, absl::StrCat("evaluation.", name_, ".extra/", length));
  for (Example& example :
       ExtraExamples(ExtraExampleCount(count), length, extra_stream)) {
    examples.push_back(std::move(example));
  }
  return examples;
}

TestSize SampledTask::SizeOfTest(int64_t length, int64_t train_length) const {
  const int64_t count = TestExampleCount(length, max_test_count_);
  return {count + ExtraExampleCount(count), length};
}

absl::Status SampledTask::CheckLength(int64_t length) const {
  return CheckMinLength(length, min_length());
}

std::unique_ptr<Scorer> TokenTask::MakeScorer(int64_t, int64_t) const {
  return std::make_unique<TokenScorer>();
}

LearnedCriterion TokenTask::learned_criterion() const {
  return {.metric = "token_accuracy",
          .threshold = 0.9,
          .chance = 1 / static_cast<double>(answer_token_count_)};
}

}  // namespace locus
