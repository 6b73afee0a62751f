// Tests of properties that all tasks share: deterministic examples, lengths,
// ranges of tokens, and finite metrics; and of the helpers in examples.h.
#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using testing::Flat;
using ::testing::HasSubstr;
using testing::kInfinity;
using testing::kNan;
using testing::MustMakeTask;
using testing::Oracle;
using testing::Score;

class EveryTaskTest : public ::testing::TestWithParam<absl::string_view> {
 protected:
  // The tasks whose examples are windows of a text.
  static bool IsText() {
    return GetParam() == "text" || GetParam() == "retrofit";
  }
  std::unique_ptr<Task> task_ = MustMakeTask(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTaskTest,
                         ::testing::ValuesIn(TaskNames().begin(),
                                             TaskNames().end()),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

TEST_P(EveryTaskTest, ExamplesAreDeterministic) {
  const auto again = MustMakeTask(GetParam());
  EXPECT_EQ(Flat(task_->TrainingBatch(7, 3, 32, 64)),
            Flat(again->TrainingBatch(7, 3, 32, 64)));
  EXPECT_EQ(Flat(task_->Test(7, 128, 64)), Flat(again->Test(7, 128, 64)));
}

TEST_P(EveryTaskTest, StepsAndSeedsHaveDifferentExamples) {
  const std::string batch = Flat(task_->TrainingBatch(7, 3, 32, 64));
  EXPECT_NE(batch, Flat(task_->TrainingBatch(7, 4, 32, 64)));
  EXPECT_NE(batch, Flat(task_->TrainingBatch(8, 3, 32, 64)));
}

TEST_P(EveryTaskTest, TestsAreNotInTheTrainingData) {
  std::set<std::vector<int32_t>> trained;
  for (int step = 0; step < 50; ++step) {
    for (const Example& example : task_->TrainingBatch(1, step, 32, 64)) {
      trained.insert(example.tokens);
    }
  }
  for (const Example& example : task_->Test(1, 64, 64)) {
    EXPECT_EQ(trained.count(example.tokens), 0u);
  }
}

TEST_P(EveryTaskTest, BatchesHaveTheRequestedSizeAndLength) {
  for (const int64_t batch_size : {1, 7, 32}) {
    for (const int64_t train_length : {task_->min_length(), int64_t{33}}) {
      const auto batch = task_->TrainingBatch(1, 0, batch_size, train_length);
      ASSERT_EQ(static_cast<int64_t>(batch.size()), batch_size);
      for (const Example& example : batch) {
        EXPECT_LE(static_cast<int64_t>(example.tokens.size()), train_length);
        EXPECT_FALSE(example.targets.empty());
      }
    }
  }
}

TEST_P(EveryTaskTest, TrainingLengthsCoverTheRange) {
  std::set<int64_t> lengths;
  for (int step = 0; step < 100; ++step) {
    for (const Example& example : task_->TrainingBatch(1, step, 32, 24)) {
      lengths.insert(static_cast<int64_t>(example.tokens.size()));
    }
  }
  EXPECT_EQ(*lengths.rbegin(), 24);
  EXPECT_EQ(*lengths.begin(), IsText() ? 24 : task_->min_length());
}

TEST_P(EveryTaskTest, TestsHaveTheRequestedLength) {
  for (int64_t length = task_->min_length(); length < 80; ++length) {
    int64_t expected = length;
    if (GetParam() == "copy" || GetParam() == "reverse") expected &= ~1;
    if (GetParam() == "recall" && length == 5) expected = 4;
    const auto examples = task_->Test(1, length, 64);
    ASSERT_FALSE(examples.empty());
    for (const Example& example : examples) {
      ASSERT_EQ(static_cast<int64_t>(example.tokens.size()), expected);
    }
  }
}

TEST_P(EveryTaskTest, TokensAndTargetsAreInRange) {
  std::vector<Example> examples = task_->Test(3, 130, 64);
  for (Example& example : task_->TrainingBatch(3, 0, 64, 64)) {
    examples.push_back(std::move(example));
  }
  const auto is_token = [&](int32_t token) {
    return token >= 0 && token < task_->vocabulary_size();
  };
  for (const Example& example : examples) {
    for (const int32_t token : example.tokens) EXPECT_TRUE(is_token(token));
    int32_t previous = -1;
    for (const Target& target : example.targets) {
      EXPECT_TRUE(is_token(target.token));
      EXPECT_GT(target.index, previous);
      EXPECT_LT(target.index, static_cast<int32_t>(example.tokens.size()));
      previous = target.index;
    }
  }
}

TEST_P(EveryTaskTest, TestSizesAreBounded) {
  for (const int64_t length : {64, 512, 4096}) {
    const auto examples = task_->Test(1, length, 64);
    EXPECT_GE(examples.size(), 32u);
    EXPECT_LE(examples.size(), 512u);
    if (!IsText()) {
      // The examples of order_accuracy add a quarter.
      const int64_t extra = GetParam() == "agreement" ? 1 : 0;
      EXPECT_LE(static_cast<int64_t>(examples.size()) * length * 4,
                std::max<int64_t>(65536, 32 * length) * (4 + extra));
    }
  }
}

TEST_P(EveryTaskTest, OracleLearnsAndConstantDoesNot) {
  const LearnedCriterion learned = task_->learned_criterion();
  const auto reached = [&](auto predict) {
    const double value =
        Score(*task_, 64, predict, 64, 50.0f).at(std::string(learned.metric));
    return learned.higher_is_better ? value >= learned.threshold
                                    : value <= learned.threshold;
  };
  EXPECT_TRUE(reached(Oracle));
  EXPECT_FALSE(reached([](const Target&) { return 0; }));
}

TEST_P(EveryTaskTest, ChanceIsWorseThanTheThreshold) {
  const LearnedCriterion learned = task_->learned_criterion();
  EXPECT_TRUE(learned.IsBetter(learned.threshold, learned.chance));
  const std::map<std::string, double> expected = {{"ordering", 0.5},
                                                  {"agreement", 1.0 / 180},
                                                  {"copy", 1.0 / 16},
                                                  {"reverse", 1.0 / 16},
                                                  {"recall", 1.0 / 16}};
  const auto found = expected.find(std::string(GetParam()));
  // Tasks of text have the entropy of bytes, in nats.
  EXPECT_DOUBLE_EQ(learned.chance, found == expected.end()
                                       ? learned.threshold / 0.9
                                       : found->second);
}

TEST_P(EveryTaskTest, MetricsAreFiniteForAnyLogits) {
  auto scorer = task_->MakeScorer(128, 64);
  const auto expect_finite = [&] {
    const auto metrics = scorer->Metrics();
    EXPECT_GE(metrics.size(), 2u);
    for (const auto& [name, value] : metrics) {
      EXPECT_TRUE(std::isfinite(value)) << name;
    }
  };
  expect_finite();
  const auto examples = task_->Test(1, 128, 64);
  for (const float bad : {kNan, kInfinity, -kInfinity, 3e38f}) {
    for (const Example& example : examples) {
      std::vector<float> logits(
          example.targets.size() * task_->vocabulary_size(), bad);
      scorer->Add(example, logits);
      logits[0] = 0;
      scorer->Add(example, logits);
      expect_finite();
      if (&example - examples.data() > 4) break;
    }
  }
}

TEST_P(EveryTaskTest, RejectsTooShortLengths) {
  EXPECT_TRUE(task_->CheckLength(task_->min_length()).ok());
  EXPECT_TRUE(task_->CheckLength(512).ok());
  const absl::Status status = task_->CheckLength(task_->min_length() - 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(status), "length");
}

TEST(TasksTest, NamesMatchTheProto) {
  EXPECT_THAT(TaskNames(), ElementsAre("ordering", "agreement", "text", "copy",
                                       "reverse", "recall", "retrofit"));
}

TEST(TasksTest, RejectsUnknownName) {
  const auto task = MakeTask("sort", "");
  EXPECT_EQ(task.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(task.status().message()), HasSubstr("ordering"));
}

TEST(TasksTest, OnlyOrderingIsBidirectional) {
  for (const absl::string_view name : TaskNames()) {
    EXPECT_EQ(MustMakeTask(name)->is_bidirectional(), name == "ordering")
        << name;
  }
}

TEST(ExamplesTest, DrawsAreUniformAndIncludeBothEnds) {
  RandomStream stream(1, "test");
  int counts[3] = {0, 0, 0};
  for (int i = 0; i < 3000; ++i) {
    const int64_t drawn = DrawInteger(stream, -1, 1);
    ASSERT_TRUE(drawn >= -1 && drawn <= 1);
    ++counts[drawn + 1];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 100);
}

TEST(ExamplesTest, NegativeLogLikelihoodIsStable) {
  EXPECT_NEAR(NegativeLogLikelihood({0, 0, 0, 0}, 2), std::log(4.0), 1e-15);
  EXPECT_NEAR(NegativeLogLikelihood({1e4f, 1e4f}, 0), std::log(2.0), 1e-15);
  EXPECT_NEAR(NegativeLogLikelihood({0, -200}, 1), 200, 1e-12);
  EXPECT_NEAR(NegativeLogLikelihood({1, 2, 3}, 0), 2.40760596444438, 1e-13);
  EXPECT_EQ(NegativeLogLikelihood({0, kNan}, 0), 1e6);
  EXPECT_EQ(NegativeLogLikelihood({0, -kInfinity}, 1), 1e6);
}

TEST(ExamplesTest, ArgmaxReturnsTheFirstMaximumAndIgnoresNan) {
  EXPECT_EQ(Argmax({1, 3, 3}), 1);
  EXPECT_EQ(Argmax({kNan, -2, -1}), 2);
  EXPECT_EQ(Argmax({kNan}), -1);
}

TEST(TaskTest, SizeOfTestBoundsTheTest) {
  for (const absl::string_view name : TaskNames()) {
    const auto task = MakeTask(name, "");
    ASSERT_TRUE(task.ok());
    for (const int64_t length : {16, 64, 100, 700, 3000}) {
      const auto examples = (*task)->Test(3, length, 64);
      const TestSize size = (*task)->SizeOfTest(length, 64);
      EXPECT_EQ(static_cast<int64_t>(examples.size()), size.example_count)
          << name << " at " << length;
      for (const Example& example : examples) {
        EXPECT_LE(static_cast<int64_t>(example.targets.size()),
                  size.targets_per_example);
        EXPECT_LE(static_cast<int64_t>(example.tokens.size()), length);
      }
    }
  }
}

}  // namespace
}  // namespace locus
