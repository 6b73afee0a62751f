// Tests of the task `ordering`.
#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using testing::Logits;
using testing::MustMakeTask;
using testing::Oracle;
using testing::Score;

std::vector<int32_t> ValuesOf(const Example& example) {
  EXPECT_EQ(example.tokens.back(), kOrderingQuery);
  return {example.tokens.begin(), example.tokens.end() - 1};
}

// Number of descending neighbours.
int DescentCount(const std::vector<int32_t>& values) {
  int count = 0;
  for (size_t i = 1; i < values.size(); ++i) count += values[i - 1] > values[i];
  return count;
}

TEST(OrderingTest, PairsHaveTheSameValues) {
  const auto task = MustMakeTask("ordering");
  for (const int64_t length : {3, 4, 17, 64, 512}) {
    const auto examples = task->Test(1, length, 64);
    ASSERT_EQ(examples.size() % 2, 0u);
    for (size_t i = 0; i < examples.size(); i += 2) {
      const auto sorted = ValuesOf(examples[i]);
      auto other = ValuesOf(examples[i + 1]);
      EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
      EXPECT_FALSE(std::is_sorted(other.begin(), other.end()));
      std::sort(other.begin(), other.end());
      EXPECT_EQ(sorted, other);
      EXPECT_EQ(examples[i].targets.size(), 1u);
      EXPECT_EQ(examples[i].targets[0].token, kOrderingYes);
      EXPECT_EQ(examples[i + 1].targets[0].token, kOrderingNo);
      EXPECT_EQ(examples[i].targets[0].index, length - 1);
      EXPECT_EQ(examples[i + 1].targets[0].index, length - 1);
    }
  }
}

TEST(OrderingTest, HalfOfTheNegativesDifferByOneSwap) {
  const auto task = MustMakeTask("ordering");
  int hard = 0, negatives = 0;
  for (const Example& example : task->Test(1, 64, 64)) {
    if (example.targets[0].token == kOrderingYes) continue;
    ++negatives;
    auto values = ValuesOf(example);
    if (DescentCount(values) != 1) continue;
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i - 1] > values[i]) std::swap(values[i - 1], values[i]);
    }
    hard += std::is_sorted(values.begin(), values.end());
  }
  EXPECT_NEAR(static_cast<double>(hard) / negatives, 0.5, 0.1);
}

TEST(OrderingTest, ValuesDoNotDependOnTheLength) {
  const auto task = MustMakeTask("ordering");
  // Mean number of distinct values, and mean range, over the test.
  const auto shape = [&](int64_t length) {
    double distinct = 0, range = 0;
    const auto examples = task->Test(1, length, 64);
    for (const Example& example : examples) {
      const auto values = ValuesOf(example);
      const std::set<int32_t> set(values.begin(), values.end());
      distinct += static_cast<double>(set.size());
      range += *set.rbegin() - *set.begin();
    }
    const double count = static_cast<double>(examples.size());
    return std::pair(distinct / count, range / count);
  };
  const auto [distinct, range] = shape(8);
  for (const int64_t length : {64, 256, 512}) {
    EXPECT_NEAR(shape(length).first, distinct, 0.6) << length;
    EXPECT_NEAR(shape(length).second, range, 0.9) << length;
  }
}

TEST(OrderingTest, OracleIsCorrectAndConstantIsExactlyChance) {
  const auto task = MustMakeTask("ordering");
  const auto oracle = Score(*task, 64, Oracle);
  EXPECT_EQ(oracle.at("balanced_accuracy"), 1.0);
  EXPECT_EQ(oracle.at("positive_rate"), 0.5);
  const auto yes = Score(*task, 64, [](const Target&) { return kOrderingYes; });
  EXPECT_EQ(yes.at("balanced_accuracy"), 0.5);
  EXPECT_EQ(yes.at("positive_rate"), 1.0);
  const auto nothing = Score(*task, 64, [](const Target&) { return 0; });
  EXPECT_EQ(nothing.at("balanced_accuracy"), 0.5);
  EXPECT_EQ(nothing.at("positive_rate"), 0.0);
}

TEST(OrderingTest, RoundingErrorsDoNotCountAsCorrect) {
  // The worst case of a model without positions: margins as small as rounding
  // errors whose signs happen to be correct.
  const auto task = MustMakeTask("ordering");
  for (const float scale : {1e-7f, 1e-6f, 1e-5f}) {
    auto scorer = task->MakeScorer(64, 64);
    for (const Example& example : task->Test(1, 64, 64)) {
      scorer->Add(example, Logits(*task, example, Oracle, scale));
    }
    EXPECT_EQ(scorer->Metrics().at("balanced_accuracy"), 0.5) << scale;
  }
}

TEST(OrderingTest, SmallMarginsCount) {
  const auto task = MustMakeTask("ordering");
  EXPECT_EQ(Score(*task, 64, Oracle, 64, 1e-3f).at("balanced_accuracy"), 1.0);
}

TEST(OrderingTest, RecognisingEasyNegativesReachesThreeQuarters) {
  const auto task = MustMakeTask("ordering");
  auto scorer = task->MakeScorer(64, 64);
  for (const Example& example : task->Test(1, 64, 64)) {
    const bool yes = DescentCount(ValuesOf(example)) <= 1;
    scorer->Add(example, Logits(*task, example, [&](const Target&) {
                  return yes ? kOrderingYes : kOrderingNo;
                }));
  }
  EXPECT_NEAR(scorer->Metrics().at("balanced_accuracy"), 0.75, 0.05);
}

TEST(OrderingTest, MarginsOfAPairDifferByRoundingWithoutPositions) {
  // The scorer tolerates differences of 1e-4. This test compares the margins
  // themselves, which should agree more closely.
  const auto task = MustMakeTask("ordering");
  const auto scheme = testing::MustMake("none");
  TransformerShape shape;
  shape.vocabulary_size = task->vocabulary_size();
  shape.causal = false;
  auto trainer =
      Trainer<float>::Create(shape, *scheme, {.step_count = 30}, 16, 1);
  ASSERT_TRUE(trainer.ok());
  ThreadPool pool(2);
  for (int step = 0; step < 30; ++step) {
    ASSERT_TRUE((*trainer)
                    ->Step(task->TrainingBatch(1, step, 32, 16), pool, nullptr)
                    .ok());
  }
  for (const int64_t length : {16, 128}) {
    const auto examples = task->Test(1, length, 16);
    std::vector<double> margins;
    ASSERT_TRUE((*trainer)
                    ->Test(examples, pool, nullptr,
                           [&](const Example&, absl::Span<const float> logits) {
                             margins.push_back(
                                 static_cast<double>(logits[kOrderingYes]) -
                                 logits[kOrderingNo]);
                           })
                    .ok());
    ASSERT_EQ(margins.size(), examples.size());
    double largest = 0;
    std::set<double> different;
    for (size_t n = 0; n + 1 < margins.size(); n += 2) {
      const double scale =
          std::max({1.0, std::abs(margins[n]), std::abs(margins[n + 1])});
      largest =
          std::max(largest, std::abs(margins[n] - margins[n + 1]) / scale);
      different.insert(margins[n]);
    }
    // Measured: 1e-6. The tolerance of the scorer is 1e-4.
    EXPECT_LT(largest, 1e-5) << "at length " << length;
    RecordProperty(absl::StrCat("margin_", length), absl::StrCat(largest));
    // Margins depend on the values, so that the comparison is not vacuous.
    EXPECT_GT(different.size(), margins.size() / 8);
  }
}

TEST(OrderingTest, QuestionEndsWithTheQueryToken) {
  const Example question = MakeOrderingQuestion({3, 1, 4, 2});
  EXPECT_EQ(question.tokens,
            (std::vector<int32_t>{3, 1, 4, 2, kOrderingQuery}));
  ASSERT_EQ(question.targets.size(), 1u);
  EXPECT_EQ(question.targets[0].index, 4);
  EXPECT_EQ(question.targets[0].token, kOrderingNo);
  EXPECT_EQ(MakeOrderingQuestion({1, 1, 2}).targets[0].token, kOrderingYes);
}

TEST(OrderingTest, SortedProbabilityComparesYesAndNo) {
  std::vector<float> logits(kOrderingNo + 1, 100.0f);
  logits[kOrderingYes] = 1;
  logits[kOrderingNo] = 1 - std::log(3.0f);
  EXPECT_NEAR(SortedProbability(logits), 0.75, 1e-6);
  logits[kOrderingYes] = testing::kNan;
  EXPECT_EQ(SortedProbability(logits), 0.5);
}

}  // namespace
}  // namespace locus
