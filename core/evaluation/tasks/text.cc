#include "core/evaluation/tasks/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/evaluation/tasks/corpus.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

// Maximum number of targets that a test scores for `nll`.
constexpr int64_t kMaxTestTargets = 2048;
// Maximum number of targets of windows that are scored at all positions.
constexpr int64_t kMaxBucketTargets = 16384;

// Number of bytes at the end of a window that are scored for `nll`.
int64_t ScoredBytes(int64_t train_length) {
  return std::clamp<int64_t>(train_length / 2, 1, 32);
}

int32_t ByteAt(absl::string_view text, int64_t index) {
  return static_cast<unsigned char>(text[index]);
}

// Running mean.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void Add(double value) {
    sum += value;
    ++count;
  }
  double Value() const { return MeanOf(sum, count); }
};

class TextScorer final : public Scorer {
 public:
  TextScorer(int64_t length, int64_t train_length)
      : scored_bytes_(ScoredBytes(train_length)) {
    if (length <= train_length) return;
    int64_t begin = 0;
    for (int64_t end = train_length; begin < length; end *= 2) {
      buckets_.push_back({begin, std::min(end, length)});
      begin = end;
    }
  }

  void Add(const Example& example, absl::Span<const float> logits) override {
    const int64_t length = static_cast<int64_t>(example.tokens.size());
    const bool is_scored_throughout =
        example.targets.size() == example.tokens.size();
    size_t bucket = 0;
    for (size_t n = 0; n < example.targets.size(); ++n) {
      const Target& target = example.targets[n];
      const double nll = NegativeLogLikelihood(
          LogitRow(example, logits, static_cast<int64_t>(n)), target.token);
      if (target.index >= length - scored_bytes_) nll_.Add(nll);
      if (!is_scored_throughout || buckets_.empty()) continue;
      while (bucket + 1 < buckets_.size() &&
             target.index >= buckets_[bucket].end) {
        ++bucket;
      }
      buckets_[bucket].nll.Add(nll);
    }
  }

  std::map<std::string, double> Metrics() const override {
    std::map<std::string, double> metrics = {
        {"nll", nll_.Value()}, {"bits_per_byte", nll_.Value() / std::log(2.0)}};
    for (const Bucket& bucket : buckets_) {
      metrics[absl::StrCat("nll_bucket_", bucket.begin, "_", bucket.end)] =
          bucket.nll.Value();
    }
    if (!buckets_.empty()) {
      metrics["drift"] =
          buckets_.back().nll.Value() - buckets_.front().nll.Value();
    }
    return metrics;
  }

 private:
  struct Bucket {
    int64_t begin = 0;
    int64_t end = 0;
    Mean nll;
  };

  int64_t scored_bytes_;
  Mean nll_;
  std::vector<Bucket> buckets_;
};

class TextTask final : public Task {
 public:
  // An empty corpus means the built-in one.
  TextTask(std::string corpus, bool trains_once)
      : trains_once_(trains_once),
        user_corpus_(std::move(corpus)),
        text_(user_corpus_.empty() ? BuiltInCorpus() : user_corpus_),
        size_(static_cast<int64_t>(text_.size())),
        held_out_size_(size_ / 10),
        target_size_(held_out_size_ / 2),
        byte_entropy_(ByteEntropy(text_.substr(0, train_size()))) {}

  bool trains_once() const override { return trains_once_; }
  int64_t vocabulary_size() const override { return 256; }
  int64_t default_step_count() const override { return 300; }
  int64_t min_length() const override { return 2; }

  std::vector<Example> TrainingBatch(uint64_t seed, int64_t step,
                                     int64_t batch_size,
                                     int64_t train_length) const override {
    RandomStream stream(seed, absl::StrCat("evaluation.text.train/", step));
    std::vector<Example> batch;
    batch.reserve(batch_size);
    for (int64_t i = 0; i < batch_size; ++i) {
      const int64_t last = train_size() - train_length - 1;
      batch.push_back(
          MakeWindow(DrawInteger(stream, 0, last), train_length, train_length));
    }
    return batch;
  }

  std::vector<Example> Test(uint64_t seed, int64_t length,
                            int64_t train_length) const override {
    const int64_t scored = std::min(ScoredBytes(train_length), length);
    const int64_t count = WindowCount(train_length);
    const int64_t full_count =
        length <= train_length
            ? 0
            : std::clamp<int64_t>(kMaxBucketTargets / length,
                                  std::min<int64_t>(4, count), count);
    std::vector<Example> examples;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t last_target =
          size_ - 1 - (count - 1 - i) * target_size_ / count;
      const bool is_full =
          (i + 1) * full_count / count > i * full_count / count;
      examples.push_back(
          MakeWindow(last_target - length, length, is_full ? length : scored));
    }
    return examples;
  }

  TestSize SizeOfTest(int64_t length, int64_t train_length) const override {
    return {WindowCount(train_length), length};
  }

  std::unique_ptr<Scorer> MakeScorer(int64_t length,
                                     int64_t train_length) const override {
    return std::make_unique<TextScorer>(length, train_length);
  }

  LearnedCriterion learned_criterion() const override {
    return {.metric = "nll",
            .higher_is_better = false,
            .threshold = 0.9 * byte_entropy_,
            .chance = byte_entropy_,
            .chance_name = "byte frequencies alone"};
  }

  absl::Status CheckLength(int64_t length) const override {
    LOCUS_RETURN_IF_ERROR(CheckMinLength(length, min_length()));
    const int64_t max_length = held_out_size_ - target_size_;
    if (length <= max_length) return absl::OkStatus();
    return InvalidField(
        trains_once_ ? "retrofit.corpus" : "text.corpus",
        absl::StrCat(size_, " bytes permit lengths of at most ", max_length,
                     " tokens, a twentieth of the text; a length of ", length,
                     " needs a corpus of at least 20 times as many bytes"));
  }

 private:
  int64_t train_size() const { return size_ - held_out_size_; }

  // Number of windows of a test. Depends on the training length only, so that
  // windows end at the same places at every length.
  int64_t WindowCount(int64_t train_length) const {
    const int64_t spacing = ScoredBytes(train_length);
    return std::clamp<int64_t>(target_size_ / spacing, 1,
                               kMaxTestTargets / spacing);
  }

  // Makes an example of the bytes [begin, begin + length), whose targets are
  // the last target_count next bytes.
  Example MakeWindow(int64_t begin, int64_t length,
                     int64_t target_count) const {
    Example example;
    example.tokens.reserve(length);
    for (int64_t i = 0; i < length; ++i) {
      example.tokens.push_back(ByteAt(text_, begin + i));
    }
    example.targets.reserve(target_count);
    for (int64_t i = length - target_count; i < length; ++i) {
      example.targets.push_back(
          {static_cast<int32_t>(i), ByteAt(text_, begin + i + 1)});
    }
    return example;
  }

  const bool trains_once_;
  const std::string user_corpus_;
  const absl::string_view text_;
  const int64_t size_;
  const int64_t held_out_size_;
  // Size of the second half of the held-out part, which holds the targets.
  const int64_t target_size_;
  const double byte_entropy_;  // of the training part
};

}  // namespace

namespace {

// Errors name the field `corpus`.
absl::StatusOr<std::unique_ptr<Task>> MakeWithCorpus(std::string corpus,
                                                     bool trains_once) {
  const int64_t size = static_cast<int64_t>(corpus.size());
  if (size > kMaxCorpusBytes) {
    return LimitExceeded(
        "corpus", "max_corpus_bytes",
        absl::StrCat(size, " bytes; at most ", kMaxCorpusBytes));
  }
  if (size > 0 && size < kMinCorpusBytes) {
    return InvalidField("corpus",
                        absl::StrCat(size, " bytes; at least ", kMinCorpusBytes,
                                     ", or none for the built-in text"));
  }
  return std::make_unique<TextTask>(std::move(corpus), trains_once);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Task>> MakeTextTask(std::string corpus) {
  auto task = MakeWithCorpus(std::move(corpus), /*trains_once=*/false);
  if (!task.ok()) return Within("text", task.status());
  return task;
}

absl::StatusOr<std::unique_ptr<Task>> MakeRetrofitTask(std::string corpus) {
  auto task = MakeWithCorpus(std::move(corpus), /*trains_once=*/true);
  if (!task.ok()) return Within("retrofit", task.status());
  return task;
}

double ByteEntropy(absl::string_view text) {
  std::array<int64_t, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double entropy = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    const double p =
        static_cast<double>(count) / static_cast<double>(text.size());
    entropy -= p * std::log(p);
  }
  return entropy;
}

}  // namespace locus
