#include "core/evaluation/tasks/ordering.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "core/evaluation/tasks/examples.h"

namespace locus {
namespace {

constexpr int64_t kMinDistinct = 4;
constexpr int64_t kMaxDistinct = 6;

// Draws `count` values in ascending order, at least two of them different.
std::vector<int32_t> DrawSortedValues(int64_t count, RandomStream& stream) {
  const int64_t distinct = DrawInteger(stream, std::min(count, kMinDistinct),
                                       std::min(count, kMaxDistinct));
  std::vector<int32_t> values(kOrderingValueCount);
  std::iota(values.begin(), values.end(), 0);
  Shuffle(stream, absl::MakeSpan(values));
  values.resize(distinct);
  while (static_cast<int64_t>(values.size()) < count) {
    values.push_back(values[DrawInteger(stream, 0, distinct - 1)]);
  }
  std::sort(values.begin(), values.end());
  return values;
}

// Swaps two different neighbours; all such pairs are equally likely.
void SwapNeighbours(std::vector<int32_t>& sorted, RandomStream& stream) {
  std::vector<size_t> candidates;
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1] != sorted[i]) candidates.push_back(i);
  }
  const size_t i = candidates[DrawInteger(
      stream, 0, static_cast<int64_t>(candidates.size()) - 1)];
  std::swap(sorted[i - 1], sorted[i]);
}

Example MakeQuestion(std::vector<int32_t> values, int32_t answer) {
  Example example;
  example.targets = {{static_cast<int32_t>(values.size()), answer}};
  example.tokens = std::move(values);
  example.tokens.push_back(kOrderingQuery);
  return example;
}

// The answer is yes if its logit exceeds that of no; their difference is the
// margin.
//
// A model without positions has the same margin for both members of a pair, but
// computes it by sums in another order. Rounding may make one margin slightly
// positive and the other slightly negative, which would count as a correct
// pair. Therefore members whose margins differ by no more than rounding errors
// get the same answer, that of the mean margin. The margins of a model that
// distinguishes them differ by orders of magnitude more.
class OrderingScorer final : public Scorer {
 public:
  void Add(const Example& example, absl::Span<const float> logits) override {
    Answer answer;
    answer.margin =
        static_cast<double>(logits[kOrderingYes]) - logits[kOrderingNo];
    answer.is_sorted = example.targets.front().token == kOrderingYes;
    answer.values = example.tokens;
    std::sort(answer.values.begin(), answer.values.end());
    if (!pending_.has_value()) {
      pending_ = std::move(answer);
    } else if (answer.is_sorted != pending_->is_sorted &&
               answer.values == pending_->values) {
      CountPair(*pending_, answer);
      pending_.reset();
    } else {
      counts_.Count(*pending_, pending_->margin);
      pending_ = std::move(answer);
    }
  }

  std::map<std::string, double> Metrics() const override {
    Counts counts = counts_;
    if (pending_.has_value()) counts.Count(*pending_, pending_->margin);
    const auto& [total, yes] = counts;
    const double correct_yes = MeanOf(yes[true], total[true]);
    const double correct_no = MeanOf(total[false] - yes[false], total[false]);
    return {{"balanced_accuracy", (correct_yes + correct_no) / 2},
            {"positive_rate",
             MeanOf(yes[false] + yes[true], total[false] + total[true])}};
  }

 private:
  struct Answer {
    double margin = 0;
    bool is_sorted = false;
    std::vector<int32_t> values;  // sorted, including the query token
  };

  // Counts, indexed by whether the sequence is sorted.
  struct Counts {
    int64_t total[2] = {0, 0};
    int64_t yes[2] = {0, 0};

    void Count(const Answer& answer, double margin) {
      ++total[answer.is_sorted];
      yes[answer.is_sorted] += margin > 0;
    }
  };

  void CountPair(const Answer& a, const Answer& b) {
    // Logits are floats of magnitude 1 to 100 that result from a few hundred
    // roundings of 6e-8 each.
    constexpr double kRounding = 1e-4;
    const double scale =
        std::max({1.0, std::abs(a.margin), std::abs(b.margin)});
    const bool alike = std::abs(a.margin - b.margin) <= kRounding * scale;
    const double mean = (a.margin + b.margin) / 2;
    counts_.Count(a, alike ? mean : a.margin);
    counts_.Count(b, alike ? mean : b.margin);
  }

  Counts counts_;
  std::optional<Answer> pending_;
};

class OrderingTask final : public SampledTask {
 public:
  OrderingTask() : SampledTask("ordering", /*max_test_count=*/512) {}

  int64_t vocabulary_size() const override { return kOrderingNo + 1; }
  bool is_bidirectional() const override { return true; }
  int64_t default_step_count() const override { return 1500; }
  int64_t default_train_length() const override { return 4; }
  std::vector<int64_t> DefaultEvalLengths(int64_t train_length) const override {
    return {train_length, 5 * train_length / 4, 3 * train_length / 2,
            2 * train_length};
  }
  int64_t min_length() const override { return 3; }
  std::unique_ptr<Scorer> MakeScorer(int64_t, int64_t) const override {
    return std::make_unique<OrderingScorer>();
  }
  LearnedCriterion learned_criterion() const override {
    return {.metric = "balanced_accuracy", .threshold = 0.85, .chance = 0.5};
  }

 protected:
  std::vector<Example> Sample(Use use, int64_t length,
                              RandomStream& stream) const override {
    const std::vector<int32_t> sorted = DrawSortedValues(length - 1, stream);
    std::vector<int32_t> other = sorted;
    if (DrawInteger(stream, 0, 1) == 0) {
      SwapNeighbours(other, stream);
    } else {
      while (std::is_sorted(other.begin(), other.end())) {
        Shuffle(stream, absl::MakeSpan(other));
      }
    }
    return {MakeQuestion(sorted, kOrderingYes),
            MakeQuestion(std::move(other), kOrderingNo)};
  }
};

}  // namespace

absl::Status CheckOrderingQuestion(absl::Span<const int64_t> values,
                                   int64_t max_length) {
  const auto count = static_cast<int64_t>(values.size());
  if (count < 2 || count + 1 > max_length) {
    return InvalidField(
        "values",
        absl::StrCat("has ", count, " values; must have from 2 to ",
                     max_length - 1,
                     ", so that with the query token the sequence is not "
                     "longer than the longest of eval_lengths"));
  }
  for (size_t n = 0; n < values.size(); ++n) {
    if (values[n] >= 0 && values[n] < kOrderingValueCount) continue;
    return InvalidField(absl::StrCat("values[", n, "]"),
                        absl::StrCat("is ", values[n], "; must be from 0 to ",
                                     kOrderingValueCount - 1));
  }
  return absl::OkStatus();
}

Example MakeOrderingQuestion(absl::Span<const int64_t> values) {
  return MakeQuestion({values.begin(), values.end()},
                      std::is_sorted(values.begin(), values.end())
                          ? kOrderingYes
                          : kOrderingNo);
}

double SortedProbability(absl::Span<const float> logits) {
  const double margin =
      static_cast<double>(logits[kOrderingYes]) - logits[kOrderingNo];
  return std::isnan(margin) ? 0.5 : 1 / (1 + std::exp(-margin));
}

std::unique_ptr<Task> MakeOrderingTask() {
  return std::make_unique<OrderingTask>();
}

}  // namespace locus
