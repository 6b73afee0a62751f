// What the tasks of trained mode promise: the same examples for the same
// arguments, lengths, right answers, and scores that mean what they say.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "core/base/thread_pool.h"
#include "core/evaluation/task.h"
#include "core/evaluation/tasks/agreement.h"
#include "core/evaluation/tasks/copy.h"
#include "core/evaluation/tasks/corpus.h"
#include "core/evaluation/tasks/examples.h"
#include "core/evaluation/tasks/ordering.h"
#include "core/evaluation/tasks/recall.h"
#include "core/evaluation/tasks/text.h"
#include "core/evaluation/trainer.h"
#include "tests/core/testing.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::unique_ptr<Task> MustMake(absl::string_view name,
                               std::string corpus = "") {
  auto task = MakeTask(name, std::move(corpus));
  EXPECT_TRUE(task.ok()) << task.status();
  return *std::move(task);
}

std::unique_ptr<Task> MustMakeText(std::string corpus) {
  return MustMake("text", std::move(corpus));
}

// A text in which a byte says where it stands, to about a dozen bytes.
std::string NumberedText(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) absl::StrAppend(&text, i, "\n");
  text.resize(size);
  return text;
}

std::string Flat(const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) {
    for (const int32_t token : example.tokens)
      absl::StrAppend(&text, token, " ");
    for (const Target& target : example.targets) {
      absl::StrAppend(&text, target.index, ":", target.token, " ");
    }
    text += "\n";
  }
  return text;
}

// One row for each target: `on` for the token that `say` names, 0 for others.
template <typename Say>
std::vector<float> Logits(const Task& task, const Example& example, Say say,
                          float on = 1) {
  std::vector<float> logits(example.targets.size() * task.vocabulary_size());
  for (size_t n = 0; n < example.targets.size(); ++n) {
    logits[n * task.vocabulary_size() + say(example.targets[n])] = on;
  }
  return logits;
}

std::map<std::string, double> Score(const Task& task, int64_t length, auto say,
                                    int64_t train_length = 64, float on = 1) {
  auto scorer = task.MakeScorer(length, train_length);
  for (const Example& example : task.Test(1, length, train_length)) {
    scorer->Add(example, Logits(task, example, say, on));
  }
  return scorer->Metrics();
}

int32_t Oracle(const Target& target) { return target.token; }

class EveryTaskTest : public ::testing::TestWithParam<absl::string_view> {
 protected:
  std::unique_ptr<Task> task_ = MustMake(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTaskTest,
                         ::testing::ValuesIn(TaskNames().begin(),
                                             TaskNames().end()),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST_P(EveryTaskTest, SameArgumentsGiveTheSameExamples) {
  const auto again = MustMake(GetParam());
  EXPECT_EQ(Flat(task_->TrainingBatch(7, 3, 32, 64)),
            Flat(again->TrainingBatch(7, 3, 32, 64)));
  EXPECT_EQ(Flat(task_->Test(7, 128, 64)), Flat(again->Test(7, 128, 64)));
}

TEST_P(EveryTaskTest, StepsAndSeedsDiffer) {
  const std::string batch = Flat(task_->TrainingBatch(7, 3, 32, 64));
  EXPECT_NE(batch, Flat(task_->TrainingBatch(7, 4, 32, 64)));
  EXPECT_NE(batch, Flat(task_->TrainingBatch(8, 3, 32, 64)));
}

TEST_P(EveryTaskTest, NothingTestedWasTrained) {
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

TEST_P(EveryTaskTest, BatchesHaveTheSizeAskedForAndFitTheTrainingLength) {
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

TEST_P(EveryTaskTest, TrainingLengthsReachBothEnds) {
  std::set<int64_t> lengths;
  for (int step = 0; step < 100; ++step) {
    for (const Example& example : task_->TrainingBatch(1, step, 32, 24)) {
      lengths.insert(static_cast<int64_t>(example.tokens.size()));
    }
  }
  EXPECT_EQ(*lengths.rbegin(), 24);
  EXPECT_EQ(*lengths.begin(), GetParam() == "text" ? 24 : task_->min_length());
}

TEST_P(EveryTaskTest, TestsHaveExactlyTheLengthIfTheStructurePermits) {
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

TEST_P(EveryTaskTest, TestsAreLargeEnoughAndBounded) {
  for (const int64_t length : {64, 512, 4096}) {
    const auto examples = task_->Test(1, length, 64);
    EXPECT_GE(examples.size(), 32u);
    EXPECT_LE(examples.size(), 512u);
    if (GetParam() != "text") {
      // A quarter on top: the questions of order.
      const int64_t extra = GetParam() == "agreement" ? 1 : 0;
      EXPECT_LE(static_cast<int64_t>(examples.size()) * length * 4,
                std::max<int64_t>(65536, 32 * length) * (4 + extra));
    }
  }
}

TEST_P(EveryTaskTest, AnOracleLearnsAndAConstantDoesNot) {
  const LearnedWhen learned = task_->learned_when();
  const auto reached = [&](auto say) {
    const double value =
        Score(*task_, 64, say, 64, 50.0f).at(std::string(learned.metric));
    return learned.more_is_better ? value >= learned.threshold
                                  : value <= learned.threshold;
  };
  EXPECT_TRUE(reached(Oracle));
  EXPECT_FALSE(reached([](const Target&) { return 0; }));
}

TEST_P(EveryTaskTest, MetricsAreFiniteWhateverComes) {
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

TEST_P(EveryTaskTest, TooShortALengthIsRejected) {
  EXPECT_TRUE(task_->CheckLength(task_->min_length()).ok());
  EXPECT_TRUE(task_->CheckLength(512).ok());
  const absl::Status status = task_->CheckLength(task_->min_length() - 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(status), "length");
}

TEST(TasksTest, NamesAreThoseOfTheContract) {
  EXPECT_THAT(TaskNames(), ElementsAre("ordering", "agreement", "text", "copy",
                                       "reverse", "recall"));
}

TEST(TasksTest, UnknownNameIsRejected) {
  const auto task = MakeTask("sort", "");
  EXPECT_EQ(task.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(task.status().message()), HasSubstr("ordering"));
}

TEST(TasksTest, OnlyOrderingLooksBothWays) {
  for (const absl::string_view name : TaskNames()) {
    EXPECT_EQ(MustMake(name)->is_bidirectional(), name == "ordering") << name;
  }
}

// --- What tasks share --------------------------------------------------------

TEST(ExamplesTest, DrawsAreUniformAndIncludeBothEnds) {
  RandomStream stream(1, "test");
  int counts[3] = {0, 0, 0};
  for (int i = 0; i < 3000; ++i) {
    const int64_t drawn = Draw(stream, -1, 1);
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

TEST(ExamplesTest, ArgmaxTakesTheFirstAndNoNan) {
  EXPECT_EQ(Argmax({1, 3, 3}), 1);
  EXPECT_EQ(Argmax({kNan, -2, -1}), 2);
  EXPECT_EQ(Argmax({kNan}), -1);
}

// --- Ordering ----------------------------------------------------------------

std::vector<int32_t> ValuesOf(const Example& example) {
  EXPECT_EQ(example.tokens.back(), kOrderingQuery);
  return {example.tokens.begin(), example.tokens.end() - 1};
}

// How many neighbours descend.
int DescentCount(const std::vector<int32_t>& values) {
  int count = 0;
  for (size_t i = 1; i < values.size(); ++i) count += values[i - 1] > values[i];
  return count;
}

TEST(OrderingTest, PairsAreOneMultisetSortedAndNot) {
  const auto task = MustMake("ordering");
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

TEST(OrderingTest, HalfOfTheNegativesAreOneSwap) {
  const auto task = MustMake("ordering");
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

TEST(OrderingTest, ValuesDoNotBetrayTheLength) {
  const auto task = MustMake("ordering");
  // Different values and range, on average over the test.
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

TEST(OrderingTest, OracleIsRightAndAConstantIsExactlyChance) {
  const auto task = MustMake("ordering");
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

TEST(OrderingTest, RoundingDoesNotLookLikeSkill) {
  // What a model without positions does at worst: margins of rounding's size,
  // which betray the answer.
  const auto task = MustMake("ordering");
  for (const float scale : {1e-7f, 1e-6f, 1e-5f}) {
    auto scorer = task->MakeScorer(64, 64);
    for (const Example& example : task->Test(1, 64, 64)) {
      scorer->Add(example, Logits(*task, example, Oracle, scale));
    }
    EXPECT_EQ(scorer->Metrics().at("balanced_accuracy"), 0.5) << scale;
  }
}

TEST(OrderingTest, SmallButGenuineMarginsCount) {
  const auto task = MustMake("ordering");
  EXPECT_EQ(Score(*task, 64, Oracle, 64, 1e-3f).at("balanced_accuracy"), 1.0);
}

TEST(OrderingTest, BalancedAccuracyOfTheEasyOnesAloneIsThreeQuarters) {
  const auto task = MustMake("ordering");
  auto scorer = task->MakeScorer(64, 64);
  for (const Example& example : task->Test(1, 64, 64)) {
    const bool yes = DescentCount(ValuesOf(example)) <= 1;
    scorer->Add(example, Logits(*task, example, [&](const Target&) {
                  return yes ? kOrderingYes : kOrderingNo;
                }));
  }
  EXPECT_NEAR(scorer->Metrics().at("balanced_accuracy"), 0.75, 0.05);
}

TEST(OrderingTest, WithoutPositionsMarginsOfAPairDifferByRoundingAlone) {
  // The scorer gives pairs one answer up to 1e-4 of their margins: here the
  // margins themselves are looked at, so that less than that shows too.
  const auto task = MustMake("ordering");
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
    // Measured: 1e-6. The scorer's own allowance is 1e-4.
    EXPECT_LT(largest, 1e-5) << "at length " << length;
    RecordProperty(absl::StrCat("margin_", length), absl::StrCat(largest));
    // Margins say something of the values, so that the above is not vacuous.
    EXPECT_GT(different.size(), margins.size() / 8);
  }
}

// --- Agreement ---------------------------------------------------------------

// Time, verb, subject and answer of a sentence.
struct Sentence {
  std::string time, verb, subject, answer;
};

Sentence SentenceOf(const Example& example) {
  const auto word = [&](size_t i) {
    return AgreementText({example.tokens[i]});
  };
  return {word(0), word(4), word(6),
          AgreementText({example.targets.back().token})};
}

// The sentences of a test that end in a slot; the others ask for the order.
std::vector<Example> Slots(std::vector<Example> examples) {
  std::erase_if(examples,
                [](const Example& e) { return e.targets.size() > 1; });
  return examples;
}
std::vector<Example> OrderQuestions(std::vector<Example> examples) {
  std::erase_if(examples,
                [](const Example& e) { return e.targets.size() == 1; });
  return examples;
}

TEST(AgreementTest, SentencesHaveTheirShape) {
  const auto task = MustMake("agreement");
  for (const Example& example : task->TrainingBatch(1, 0, 64, 64)) {
    const std::string text = AgreementText(example.tokens);
    EXPECT_TRUE(absl::EndsWith(text, " -")) << text;
    EXPECT_EQ(example.targets.back().index,
              static_cast<int32_t>(example.tokens.size()) - 1);
    const Sentence sentence = SentenceOf(example);
    EXPECT_TRUE(absl::StartsWith(
        text, absl::StrCat(sentence.time, " , told to ", sentence.verb, " , ",
                           sentence.subject, " - ")))
        << text;
  }
}

TEST(AgreementTest, AnswersAreGoodEnglish) {
  const std::map<std::vector<std::string>, std::string> by_hand = {
      {{"always", "work", "he"}, "works"},
      {{"usually", "work", "you"}, "work"},
      {{"always", "cry", "Anna"}, "cries"},
      {{"always", "go", "she"}, "goes"},
      {{"yesterday", "go", "I"}, "went"},
      {{"once", "write", "Tom"}, "wrote"},
      {{"tomorrow", "sing", "he"}, "will sing"},
      {{"soon", "swim", "I"}, "will swim"},
      {{"now", "swim", "I"}, "am swimming"},
      {{"now", "write", "you"}, "are writing"},
      {{"currently", "sleep", "she"}, "is sleeping"},
      {{"already", "eat", "I"}, "have eaten"},
      {{"just", "speak", "Tom"}, "has spoken"},
      {{"just", "drive", "you"}, "have driven"},
      {{"now", "fall", "you"}, "are falling"},
      {{"always", "study", "he"}, "studies"},
  };
  const auto task = MustMake("agreement");
  std::set<std::vector<std::string>> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const Example& example : Slots(task->Test(seed, 9, 64))) {
      const Sentence sentence = SentenceOf(example);
      const auto found =
          by_hand.find({sentence.time, sentence.verb, sentence.subject});
      if (found == by_hand.end()) continue;
      seen.insert(found->first);
      EXPECT_EQ(sentence.answer, found->second);
    }
  }
  EXPECT_EQ(seen.size(), by_hand.size());
}

TEST(AgreementTest, HeldOutFormsAreTrainedElsewhereOnly) {
  const auto task = MustMake("agreement");
  const auto held_out_slots = [&](const std::vector<Example>& examples) {
    std::set<int32_t> tokens;
    for (const Example& example : examples) {
      const int32_t token = example.targets.back().token;
      if (IsHeldOutForm(token)) tokens.insert(token);
    }
    return tokens;
  };
  std::set<int32_t> near, trained;
  std::set<std::string> verbs;
  for (int step = 0; step < 200; ++step) {
    const auto batch = task->TrainingBatch(1, step, 32, 64);
    trained.merge(held_out_slots(batch));
    for (const Example& example : batch) {
      verbs.insert(SentenceOf(example).verb);
      ASSERT_LE(example.targets.size(), 5u);
      for (size_t n = 0; n + 1 < example.targets.size(); ++n) {
        near.insert(example.targets[n].token);
      }
    }
  }
  EXPECT_EQ(verbs.size(), 20u);
  EXPECT_EQ(near.size(), 20u * 9u + 6u);  // every form and every subject
  EXPECT_EQ(trained.size(), 5u * 2u);     // past and future of five verbs
  std::set<int32_t> tested;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    tested.merge(held_out_slots(Slots(task->Test(seed, 64, 64))));
  }
  EXPECT_EQ(tested.size(), 5u * 7u);  // all other forms
  for (const int32_t token : tested) {
    EXPECT_EQ(trained.count(token), 0u) << AgreementText({token});
  }
}

TEST(AgreementTest, AQuarterOfATestIsHeldOut) {
  const auto examples = Slots(MustMake("agreement")->Test(1, 64, 64));
  const auto held_out = std::count_if(
      examples.begin(), examples.end(),
      [](const Example& e) { return IsHeldOutForm(e.targets.back().token); });
  EXPECT_EQ(held_out * 4, static_cast<int64_t>(examples.size()));
}

TEST(AgreementTest, OtherClausesHaveOtherVerbs) {
  const auto task = MustMake("agreement");
  for (const Example& example : Slots(task->Test(1, 128, 64))) {
    const std::string verb = SentenceOf(example).verb;
    for (size_t i = 8; i < example.tokens.size(); ++i) {
      EXPECT_NE(AgreementText({example.tokens[i]}), verb);
      EXPECT_NE(example.tokens[i], example.targets.back().token);
    }
  }
}

TEST(AgreementTest, OneSubjectIsATargetAfterItsWordOfTime) {
  const std::set<std::string> subjects = {"I",   "you",  "he",
                                          "she", "Anna", "Tom"};
  const auto task = MustMake("agreement");
  int with_subject = 0;
  for (const Example& example : task->TrainingBatch(1, 0, 64, 64)) {
    const auto count = std::count_if(
        example.targets.begin(), example.targets.end(), [&](const Target& t) {
          return subjects.count(AgreementText({t.token})) != 0;
        });
    EXPECT_LE(count, 1);
    with_subject += static_cast<int>(count);
  }
  EXPECT_GT(with_subject, 40);
}

TEST(AgreementTest, OrderQuestionsArePairsThatDifferInTheOrderAlone) {
  const auto task = MustMake("agreement");
  for (const int64_t length : {9, 10, 11, 64, 300}) {
    const auto all = task->Test(1, length, 64);
    const auto questions = OrderQuestions(all);
    EXPECT_EQ(questions.size() / 2, Slots(all).size() / 8);
    for (size_t n = 0; n + 1 < questions.size(); n += 2) {
      const Example& a = questions[n];
      const Example& b = questions[n + 1];
      ASSERT_EQ(static_cast<int64_t>(a.tokens.size()), length);
      EXPECT_TRUE(std::equal(a.tokens.begin(), a.tokens.end() - 1,
                             b.tokens.begin(), b.tokens.end() - 1));
      // Subject and form are those of the opening, after its word of time.
      EXPECT_EQ(a.targets[0].token, a.tokens[6]);
      EXPECT_EQ(a.targets[1].token / 9, a.tokens[4] / 9);
      EXPECT_EQ(a.tokens[length - 2], a.tokens[0]);
      EXPECT_EQ(a.targets[0].token, b.targets[1].token);
      EXPECT_EQ(a.targets[1].token, b.targets[0].token);
      for (const Example& e : {a, b}) {
        EXPECT_EQ(e.targets[0].index, length - 2);
        EXPECT_EQ(e.targets[1].index, length - 1);
        EXPECT_EQ(e.tokens.back(), e.targets[0].token);
      }
    }
  }
}

TEST(AgreementTest, OrderIsComparedByTheProductOfBothProbabilities) {
  const auto task = MustMake("agreement");
  // The logits of what is asked for: first and second token of each order.
  const auto score = [&](std::vector<float> subject_first,
                         std::vector<float> form_first) {
    auto scorer = task->MakeScorer(64, 64);
    const auto questions = OrderQuestions(task->Test(1, 64, 64));
    for (size_t n = 0; n < questions.size(); ++n) {
      const auto& said = n % 2 == 0 ? subject_first : form_first;
      std::vector<float> logits(2 * task->vocabulary_size());
      for (int i = 0; i < 2; ++i) {
        logits[i * task->vocabulary_size() + questions[n].targets[i].token] =
            said[i];
      }
      scorer->Add(questions[n], logits);
    }
    return scorer->Metrics().at("order_accuracy");
  };
  EXPECT_EQ(score({3, 3}, {2, 2}), 1);
  EXPECT_EQ(score({2, 2}, {3, 3}), 0);
  EXPECT_EQ(score({9, 1}, {1, 8}), 1);  // the product decides
  EXPECT_EQ(score({9, 1}, {1, 9}), 0);  // equal is not right
  EXPECT_EQ(score({8, 1}, {1, 9}), 0);
}

TEST(AgreementTest, OrderQuestionsLeaveTheOtherMetricsAlone) {
  const auto task = MustMake("agreement");
  const auto metrics = [&](const std::vector<Example>& examples) {
    auto scorer = task->MakeScorer(64, 64);
    for (const Example& example : examples) {
      scorer->Add(example, Logits(*task, example, [](const Target& target) {
                    return target.token / 2 * 2;
                  }));
    }
    auto found = scorer->Metrics();
    found.erase("order_accuracy");
    return found;
  };
  const auto examples = task->Test(1, 64, 64);
  EXPECT_EQ(metrics(examples), metrics(Slots(examples)));
}

TEST(AgreementTest, NearTargetsAreWhatFollows) {
  const auto task = MustMake("agreement");
  for (const Example& example : task->TrainingBatch(1, 0, 64, 64)) {
    for (size_t n = 0; n + 1 < example.targets.size(); ++n) {
      const Target& target = example.targets[n];
      EXPECT_EQ(example.tokens[target.index + 1], target.token);
    }
  }
}

TEST(AgreementTest, OracleIsRightInEverything) {
  const auto metrics = Score(*MustMake("agreement"), 64, Oracle);
  EXPECT_EQ(metrics.at("accuracy"), 1.0);
  EXPECT_EQ(metrics.at("pair_accuracy"), 1.0);
  EXPECT_EQ(metrics.at("held_out_accuracy"), 1.0);
}

TEST(AgreementTest, PairsCompareThePersonsOfOneTense) {
  // Who says "works" for "work" and so on is wrong in every pair; who always
  // says "has gone" is wrong in nearly all, but undecided is not right either.
  const auto task = MustMake("agreement");
  const auto by_text = [](absl::string_view text) {
    for (int32_t token = 0; token < 180; ++token) {
      if (AgreementText({token}) == text) return token;
    }
    return -1;
  };
  const auto score = [&](absl::string_view right, absl::string_view said) {
    auto scorer = task->MakeScorer(9, 64);
    Example example{.tokens = std::vector<int32_t>(9),
                    .targets = {{8, by_text(right)}}};
    scorer->Add(example, Logits(*task, example,
                                [&](const Target&) { return by_text(said); }));
    return scorer->Metrics().at("pair_accuracy");
  };
  EXPECT_EQ(score("works", "works"), 1);
  EXPECT_EQ(score("works", "work"), 0);
  EXPECT_EQ(score("work", "works"), 0);
  EXPECT_EQ(score("am going", "is going"), 0);
  EXPECT_EQ(score("is going", "is going"), 1);
  EXPECT_EQ(score("has eaten", "have eaten"), 0);
  EXPECT_EQ(score("has eaten", "has gone"), 0);
  EXPECT_EQ(score("went", "went"), 0);  // no pair: nothing was counted
}

TEST(AgreementTest, KnowingAllButThePersonIsNotEnough) {
  // Tense and verb right, and the third person always.
  const auto task = MustMake("agreement");
  const auto metrics = Score(*task, 64, [](const Target& target) {
    constexpr int32_t kThird[] = {1, 1, 2, 3, 6, 6, 6, 8, 8};
    return target.token / 9 * 9 + kThird[target.token % 9];
  });
  EXPECT_LT(metrics.at("accuracy"), task->learned_when().threshold - 0.1);
}

// --- Text --------------------------------------------------------------------

// The bytes that a test scores for `nll`: the last of each window.
std::vector<std::string> CommonTargets(const std::vector<Example>& examples,
                                       size_t count) {
  std::vector<std::string> targets;
  for (const Example& example : examples) {
    std::string bytes;
    for (size_t n = example.targets.size() - count; n < example.targets.size();
         ++n) {
      bytes += static_cast<char>(example.targets[n].token);
    }
    targets.push_back(bytes);
  }
  return targets;
}

TEST(TextTest, TheSameBytesAreScoredAtEveryLength) {
  const auto task = MustMakeText(NumberedText(100000));
  const auto expected = CommonTargets(task->Test(1, 64, 64), 32);
  EXPECT_EQ(expected.size(), 64u);
  for (const int64_t length : {32, 100, 128, 512, 4096}) {
    const auto examples = task->Test(1, length, 64);
    EXPECT_EQ(CommonTargets(examples, 32), expected) << length;
    for (const Example& example : examples) {
      EXPECT_EQ(example.targets.back().index, length - 1);
    }
  }
}

TEST(TextTest, ScoredBytesAreDistinctAndSpread) {
  const std::string text = NumberedText(100000);
  const auto task = MustMakeText(text);
  std::set<size_t> places;
  for (const std::string& bytes : CommonTargets(task->Test(1, 64, 64), 32)) {
    const size_t place = text.find(bytes);
    ASSERT_NE(place, std::string::npos);
    EXPECT_EQ(text.find(bytes, place + 1), std::string::npos);
    if (!places.empty()) {
      EXPECT_GE(place, *places.rbegin() + 32);
    }
    places.insert(place);
  }
  EXPECT_GE(*places.begin(), 95000u);
  EXPECT_LT(*places.begin(), 95200u);
  EXPECT_EQ(*places.rbegin(), 100000u - 32);
}

TEST(TextTest, TargetsAreTheNextBytes) {
  const std::string text = NumberedText(50000);
  const auto task = MustMakeText(text);
  std::vector<Example> examples = task->TrainingBatch(1, 0, 16, 64);
  for (const Example& example : examples) {
    EXPECT_EQ(example.targets.size(), 64u);
  }
  for (Example& example : task->Test(1, 256, 64)) examples.push_back(example);
  for (const Example& example : examples) {
    const std::string window(example.tokens.begin(), example.tokens.end());
    const size_t place = text.find(window);
    ASSERT_NE(place, std::string::npos);
    for (const Target& target : example.targets) {
      EXPECT_EQ(target.token, text[place + target.index + 1]);
    }
  }
}

TEST(TextTest, TheLastTenthIsNeverTrainedAndAloneTested) {
  std::string text(40000, 'a');
  std::fill(text.begin() + 36000, text.end(), 'b');
  const auto task = MustMakeText(text);
  for (int step = 0; step < 200; ++step) {
    for (const Example& example : task->TrainingBatch(1, step, 32, 64)) {
      for (const int32_t token : example.tokens) ASSERT_EQ(token, 'a');
      for (const Target& target : example.targets) {
        ASSERT_EQ(target.token, 'a');
      }
    }
  }
  for (const int64_t length : {64, 2000}) {
    ASSERT_TRUE(task->CheckLength(length).ok());
    for (const Example& example : task->Test(1, length, 64)) {
      for (const int32_t token : example.tokens) ASSERT_EQ(token, 'b');
    }
  }
}

TEST(TextTest, AllOfTheTrainingPartIsTrained) {
  std::string text(4096, 'a');
  text.front() = 'f';
  text[4096 - 409 - 1] = 'l';
  const auto task = MustMakeText(text);
  bool first = false, last = false;
  for (int step = 0; step < 500; ++step) {
    for (const Example& example : task->TrainingBatch(1, step, 32, 64)) {
      first |= example.tokens.front() == 'f';
      last |= example.targets.back().token == 'l';
    }
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(last);
}

TEST(TextTest, BytesAreUnsigned) {
  const auto task = MustMakeText(std::string(5000, '\xff'));
  EXPECT_EQ(task->TrainingBatch(1, 0, 1, 8)[0].tokens[0], 255);
}

TEST(TextTest, UniformLogitsCostEightBits) {
  const auto metrics = Score(*MustMake("text"), 256, Oracle, 64, 0.0f);
  EXPECT_NEAR(metrics.at("nll"), std::log(256.0), 1e-12);
  EXPECT_NEAR(metrics.at("bits_per_byte"), 8, 1e-12);
  EXPECT_NEAR(metrics.at("drift"), 0, 1e-12);
}

TEST(TextTest, BucketsDoubleFromTheTrainingLength) {
  const auto task = MustMake("text");
  const auto names = [&](int64_t length) {
    std::set<std::string> names;
    for (const auto& [name, value] : task->MakeScorer(length, 64)->Metrics()) {
      names.insert(name);
    }
    return names;
  };
  EXPECT_THAT(names(64), ElementsAre("bits_per_byte", "nll"));
  EXPECT_THAT(names(100), ElementsAre("bits_per_byte", "drift", "nll",
                                      "nll_bucket_0_64", "nll_bucket_64_100"));
  EXPECT_THAT(names(256),
              ElementsAre("bits_per_byte", "drift", "nll", "nll_bucket_0_64",
                          "nll_bucket_128_256", "nll_bucket_64_128"));
}

TEST(TextTest, BucketsAreByPositionAndNllIsOverTheCommonTargetsAlone) {
  // Certain before position 64, uniform up to 128, uniform over two tokens from
  // there to the last 32 bytes, which are certain again.
  const auto task = MustMake("text");
  auto scorer = task->MakeScorer(256, 64);
  for (const Example& example : task->Test(1, 256, 64)) {
    std::vector<float> logits(example.targets.size() * 256);
    for (size_t n = 0; n < example.targets.size(); ++n) {
      const auto [index, token] = example.targets[n];
      if (index >= 64 && index < 128) continue;
      logits[n * 256 + token] = 100;
      if (index >= 128 && index < 224) {
        logits[n * 256 + (token + 1) % 256] = 100;
      }
    }
    scorer->Add(example, logits);
  }
  const auto metrics = scorer->Metrics();
  EXPECT_NEAR(metrics.at("nll"), 0, 1e-12);
  EXPECT_NEAR(metrics.at("nll_bucket_0_64"), 0, 1e-12);
  EXPECT_NEAR(metrics.at("nll_bucket_64_128"), std::log(256.0), 1e-12);
  EXPECT_NEAR(metrics.at("nll_bucket_128_256"), 0.75 * std::log(2.0), 1e-12);
  EXPECT_NEAR(metrics.at("drift"), 0.75 * std::log(2.0), 1e-12);
}

TEST(TextTest, EntropyOfBytes) {
  EXPECT_EQ(ByteEntropy("aaaa"), 0);
  EXPECT_EQ(ByteEntropy(""), 0);
  EXPECT_NEAR(ByteEntropy("abab"), std::log(2.0), 1e-15);
  EXPECT_NEAR(ByteEntropy("aab\xff"), 1.5 * std::log(2.0), 1e-15);
}

TEST(TextTest, LearnedIsATenthBelowTheEntropyOfTheTrainingPart) {
  std::string text;
  for (int i = 0; i < 18000; ++i) text += "ab";
  text.append(4000, 'x');
  const LearnedWhen learned = MustMakeText(text)->learned_when();
  EXPECT_EQ(learned.metric, "nll");
  EXPECT_FALSE(learned.more_is_better);
  EXPECT_NEAR(learned.threshold, 0.9 * std::log(2.0), 1e-12);
}

TEST(TextTest, CorpusLimits) {
  EXPECT_TRUE(MakeTask("text", std::string(4096, 'a')).ok());
  EXPECT_TRUE(MakeTask("text", std::string(4 << 20, 'a')).ok());
  const auto small = MakeTask("text", std::string(4095, 'a')).status();
  EXPECT_EQ(small.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(small), "text.corpus");
  const auto large = MakeTask("text", std::string((4 << 20) + 1, 'a')).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FieldOf(large), "text.corpus");
  EXPECT_EQ(LimitOf(large), "max_corpus_bytes");
}

TEST(TextTest, LengthsBeyondATwentiethOfTheCorpusAreRejected) {
  const auto task = MustMakeText(std::string(20000, 'a'));
  EXPECT_TRUE(task->CheckLength(1000).ok());
  const absl::Status status = task->CheckLength(1001);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(status), "text.corpus");
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 1000 tokens"));
}

TEST(TextTest, TheSmallestCorpusWorks) {
  const std::string text = NumberedText(4099);
  const auto task = MustMakeText(text);
  ASSERT_TRUE(task->CheckLength(205).ok());
  EXPECT_FALSE(task->CheckLength(206).ok());
  for (const Example& example : task->Test(1, 205, 64)) {
    const std::string window(example.tokens.begin(), example.tokens.end());
    EXPECT_GE(text.find(window), 4099u - 409u);
  }
  EXPECT_EQ(task->TrainingBatch(1, 0, 4, 205).size(), 4u);
}

TEST(CorpusTest, IsPlainAndLargeEnough) {
  const absl::string_view corpus = BuiltInCorpus();
  EXPECT_GE(corpus.size(), 300u << 10);
  EXPECT_LE(corpus.size(), 400u << 10);
  for (const char c : corpus) {
    ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
  EXPECT_FALSE(absl::StrContains(corpus, "$"));
  EXPECT_FALSE(absl::StrContains(corpus, "  "));
}

TEST(CorpusTest, StoriesAreManyAndDifferent) {
  std::vector<std::string> stories = absl::StrSplit(BuiltInCorpus(), "\n\n\n");
  EXPECT_EQ(stories.back(), "");
  stories.pop_back();
  EXPECT_GT(stories.size(), 100u);
  EXPECT_EQ(std::set<std::string>(stories.begin(), stories.end()).size(),
            stories.size());
}

TEST(CorpusTest, IsMadeOnceFromAnyThread) {
  std::vector<const char*> made(4);
  std::vector<std::thread> threads;
  for (const char*& data : made) {
    threads.emplace_back([&data] { data = BuiltInCorpus().data(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* data : made) EXPECT_EQ(data, BuiltInCorpus().data());
}

// --- Copy, reverse and recall ------------------------------------------------

TEST(CopyTest, SaysTheSymbolsAgain) {
  for (const absl::string_view name : {"copy", "reverse"}) {
    const auto task = MustMake(name);
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
        // Teacher forcing: what was to be said is read next.
        EXPECT_TRUE(std::equal(example.tokens.begin() + count + 1,
                               example.tokens.end(), answer.begin(),
                               answer.end() - 1));
      }
    }
  }
}

TEST(CopyTest, ExactMatchNeedsEveryToken) {
  const auto task = MustMake("copy");
  const auto perfect = Score(*task, 64, Oracle);
  EXPECT_EQ(perfect.at("exact_match"), 1);
  EXPECT_EQ(perfect.at("token_accuracy"), 1);
  // Wrong at the last token only.
  const auto nearly = Score(*task, 64, [](const Target& target) {
    return target.index == 63 ? (target.token + 1) % 16 : target.token;
  });
  EXPECT_EQ(nearly.at("exact_match"), 0);
  EXPECT_NEAR(nearly.at("token_accuracy"), 31.0 / 32, 1e-12);
}

TEST(RecallTest, QueriedKeysStandOnceAndTargetsAreTheirValues) {
  const auto task = MustMake("recall");
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
      std::set<int32_t> asked;
      for (const Target& target : example.targets) {
        ASSERT_EQ(target.index, static_cast<int32_t>(++i));
        const int32_t key = example.tokens[target.index];
        ASSERT_EQ(count_of[key], 1);
        EXPECT_EQ(value_of[key], target.token);
        EXPECT_TRUE(asked.insert(key).second);
      }
      if (length >= 25) {
        EXPECT_EQ(asked.size(), length % 2 == 1 ? 8u : 7u);
      }
    }
  }
}

TEST(RecallTest, InTrainingRepeatedKeysAreTargetsToo) {
  const auto task = MustMake("recall");
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

TEST(RecallTest, QueriedPairsAreAnywhere) {
  const auto task = MustMake("recall");
  std::set<size_t> places;
  for (const Example& example : task->Test(1, 65, 64)) {
    const int32_t key = example.tokens[example.targets[0].index];
    places.insert(std::find(example.tokens.begin(), example.tokens.end(), key) -
                  example.tokens.begin());
  }
  EXPECT_EQ(*places.begin(), 0u);
  EXPECT_EQ(*places.rbegin(), 54u);  // the last of 28 pairs
}

TEST(TaskTest, SizeOfTestIsWhatTestMakes) {
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
