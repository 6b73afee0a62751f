// Tests of the task `recall`.
#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using testing::MustMakeTask;

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
