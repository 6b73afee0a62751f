// Tests of the tasks `copy`, `reverse` and `recall`.
#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using testing::MustMakeTask;
using testing::Oracle;
using testing::Score;

TEST(CopyTest, TargetsRepeatTheSymbols) {
  for (const absl::string_view name : {"copy", "reverse"}) {
    const auto task = MustMakeTask(name);
    for (const int64_t length : {2, 7, 64}) {
      for (const Example& example : task->Test(1, length, 64)) {
        const int64_t count = length / 2;
        std::vector<int32_t> expected(example.tokens.begin(),
                                      example.tokens.begin() + count);
        for (const int32_t symbol : expected) {
          EXPECT_LT(symbol, kCopySymbolCount);
        }
        if (name == "reverse") std::reverse(expected.begin(), expected.end());
        ASSERT_EQ(example.tokens[count], kCopySeparator);
        std::vector<int32_t> answer;
        for (const Target& target : example.targets) {
          EXPECT_EQ(target.index, count + static_cast<int64_t>(answer.size()));
          answer.push_back(target.token);
        }
        EXPECT_EQ(answer, expected);
        // Teacher forcing: each target is the next token.
        EXPECT_TRUE(std::equal(example.tokens.begin() + count + 1,
                               example.tokens.end(), answer.begin(),
                               answer.end() - 1));
      }
    }
  }
}

TEST(CopyTest, ExactMatchNeedsEveryToken) {
  const auto task = MustMakeTask("copy");
  const auto perfect = Score(*task, 64, Oracle);
  EXPECT_EQ(perfect.at("exact_match"), 1);
  EXPECT_EQ(perfect.at("token_accuracy"), 1);
  // Only the last token is wrong.
  const auto nearly = Score(*task, 64, [](const Target& target) {
    return target.index == 63 ? (target.token + 1) % 16 : target.token;
  });
  EXPECT_EQ(nearly.at("exact_match"), 0);
  EXPECT_NEAR(nearly.at("token_accuracy"), 31.0 / 32, 1e-12);
}

TEST(RecallTest, QueriedKeysOccurOnceAndTargetsAreTheirValues) {
  const auto task = MustMakeTask("recall");
  for (const int64_t length : {4, 5, 6, 7, 13, 64, 65, 512}) {
    for (const Example& example : task->Test(1, length, 64)) {
      std::map<int32_t, int32_t> value_of, count_of;
      size_t i = 0;
      for (; example.tokens[i] != kRecallSeparator; i += 2) {
        const int32_t key = example.tokens[i];
        const int32_t value = example.tokens[i + 1];
        ASSERT_LT(key, kRecallKeyCount);
        ASSERT_GE(value, kRecallKeyCount);
        ASSERT_LT(value, kRecallSeparator);
        ++count_of[key];
        ASSERT_EQ(value_of.emplace(key, value).first->second, value);
      }
      ASSERT_EQ(example.tokens.size() - i - 1, example.targets.size());
      std::set<int32_t> queried;
      for (const Target& target : example.targets) {
        ASSERT_EQ(target.index, static_cast<int32_t>(++i));
        const int32_t key = example.tokens[target.index];
        ASSERT_EQ(count_of[key], 1);
        EXPECT_EQ(value_of[key], target.token);
        EXPECT_TRUE(queried.insert(key).second);
      }
      if (length >= 25) {
        EXPECT_EQ(queried.size(), length % 2 == 1 ? 8u : 7u);
      }
    }
  }
}

TEST(RecallTest, RepeatedKeysAreTargetsInTraining) {
  const auto task = MustMakeTask("recall");
  for (const Example& example : task->TrainingBatch(1, 0, 64, 64)) {
    std::map<int32_t, int32_t> value_of;
    std::vector<std::pair<int32_t, int32_t>> expected;
    size_t i = 0;
    for (; example.tokens[i] != kRecallSeparator; i += 2) {
      const int32_t value = example.tokens[i + 1];
      if (!value_of.emplace(example.tokens[i], value).second) {
        expected.emplace_back(i, value);
      }
    }
    for (++i; i < example.tokens.size(); ++i) {
      expected.emplace_back(i, value_of.at(example.tokens[i]));
    }
    std::vector<std::pair<int32_t, int32_t>> targets;
    for (const Target& target : example.targets) {
      targets.emplace_back(target.index, target.token);
    }
    EXPECT_EQ(targets, expected);
  }
}

TEST(RecallTest, QueriedPairsAreAtRandomPlaces) {
  const auto task = MustMakeTask("recall");
  std::set<size_t> places;
  for (const Example& example : task->Test(1, 65, 64)) {
    const int32_t key = example.tokens[example.targets[0].index];
    places.insert(std::find(example.tokens.begin(), example.tokens.end(), key) -
                  example.tokens.begin());
  }
  EXPECT_EQ(*places.begin(), 0u);
  EXPECT_EQ(*places.rbegin(), 54u);  // the last of 28 pairs
}

}  // namespace
}  // namespace locus
