// Tests of the task `agreement`.
#include <cmath>
#include <string>
#include <vector>

#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using testing::Logits;
using testing::MustMakeTask;
using testing::Oracle;
using testing::Score;

// Time adverb, verb, subject and answer of a sentence.
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

// Examples of a test that end in a slot.
std::vector<Example> Slots(std::vector<Example> examples) {
  std::erase_if(examples,
                [](const Example& e) { return e.targets.size() > 1; });
  return examples;
}
// Examples of a test for order_accuracy.
std::vector<Example> OrderExamples(std::vector<Example> examples) {
  std::erase_if(examples,
                [](const Example& e) { return e.targets.size() == 1; });
  return examples;
}

TEST(AgreementTest, SentencesHaveAnOpeningAndASlot) {
  const auto task = MustMakeTask("agreement");
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

TEST(AgreementTest, AnswersAreCorrectEnglish) {
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
  const auto task = MustMakeTask("agreement");
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

TEST(AgreementTest, HeldOutFormsAreNotTrainedAtTheSlot) {
  const auto task = MustMakeTask("agreement");
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
  const auto examples = Slots(MustMakeTask("agreement")->Test(1, 64, 64));
  const auto held_out = std::count_if(
      examples.begin(), examples.end(),
      [](const Example& e) { return IsHeldOutForm(e.targets.back().token); });
  EXPECT_EQ(held_out * 4, static_cast<int64_t>(examples.size()));
}

TEST(AgreementTest, DistractingClausesHaveOtherVerbs) {
  const auto task = MustMakeTask("agreement");
  for (const Example& example : Slots(task->Test(1, 128, 64))) {
    const std::string verb = SentenceOf(example).verb;
    for (size_t i = 8; i < example.tokens.size(); ++i) {
      EXPECT_NE(AgreementText({example.tokens[i]}), verb);
      EXPECT_NE(example.tokens[i], example.targets.back().token);
    }
  }
}

TEST(AgreementTest, AtMostOneSubjectIsATarget) {
  const std::set<std::string> subjects = {"I",   "you",  "he",
                                          "she", "Anna", "Tom"};
  const auto task = MustMakeTask("agreement");
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

TEST(AgreementTest, OrderExamplesDifferInTheOrderOnly) {
  const auto task = MustMakeTask("agreement");
  for (const int64_t length : {9, 10, 11, 64, 300}) {
    const auto all = task->Test(1, length, 64);
    const auto order_examples = OrderExamples(all);
    EXPECT_EQ(order_examples.size() / 2, Slots(all).size() / 8);
    for (size_t n = 0; n + 1 < order_examples.size(); n += 2) {
      const Example& a = order_examples[n];
      const Example& b = order_examples[n + 1];
      ASSERT_EQ(static_cast<int64_t>(a.tokens.size()), length);
      EXPECT_TRUE(std::equal(a.tokens.begin(), a.tokens.end() - 1,
                             b.tokens.begin(), b.tokens.end() - 1));
      // Subject and form of the opening follow its time adverb.
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

TEST(AgreementTest, OrderComparesProductsOfProbabilities) {
  const auto task = MustMakeTask("agreement");
  // Takes the logits of the first and second target of each order.
  const auto score = [&](const std::vector<float>& subject_first,
                         const std::vector<float>& form_first) {
    auto scorer = task->MakeScorer(64, 64);
    const auto order_examples = OrderExamples(task->Test(1, 64, 64));
    for (size_t n = 0; n < order_examples.size(); ++n) {
      const auto& target_logits = n % 2 == 0 ? subject_first : form_first;
      std::vector<float> logits(2 * task->vocabulary_size());
      for (int i = 0; i < 2; ++i) {
        logits[i * task->vocabulary_size() +
               order_examples[n].targets[i].token] = target_logits[i];
      }
      scorer->Add(order_examples[n], logits);
    }
    return scorer->Metrics().at("order_accuracy");
  };
  EXPECT_EQ(score({3, 3}, {2, 2}), 1);
  EXPECT_EQ(score({2, 2}, {3, 3}), 0);
  EXPECT_EQ(score({9, 1}, {1, 8}), 1);  // the product decides
  EXPECT_EQ(score({9, 1}, {1, 9}), 0);  // ties count as wrong
  EXPECT_EQ(score({8, 1}, {1, 9}), 0);
}

TEST(AgreementTest, BigramModelKnowsTheOrder) {
  // A bigram model of the training targets has no positions and does not know
  // the answers at the slot.
  const auto task = MustMakeTask("agreement");
  const int64_t size = task->vocabulary_size();
  std::vector<float> counts(size * size, 0.1F);
  for (int64_t step = 0; step < 50; ++step) {
    for (const Example& example : task->TrainingBatch(1, step, 32, 64)) {
      for (const Target& target : example.targets) {
        ++counts[example.tokens[target.index] * size + target.token];
      }
    }
  }
  for (const int64_t length : {64, 512}) {
    auto scorer = task->MakeScorer(length, 64);
    for (const Example& example : task->Test(1, length, 64)) {
      std::vector<float> logits;
      for (const Target& target : example.targets) {
        for (int64_t token = 0; token < size; ++token) {
          logits.push_back(
              std::log(counts[example.tokens[target.index] * size + token]));
        }
      }
      scorer->Add(example, logits);
    }
    EXPECT_EQ(scorer->Metrics().at("order_accuracy"), 1);
    EXPECT_LT(scorer->Metrics().at("accuracy"), 0.1);
  }
}

TEST(AgreementTest, OrderExamplesDoNotChangeOtherMetrics) {
  const auto task = MustMakeTask("agreement");
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

TEST(AgreementTest, NearTargetsAreTheNextTokens) {
  const auto task = MustMakeTask("agreement");
  for (const Example& example : task->TrainingBatch(1, 0, 64, 64)) {
    for (size_t n = 0; n + 1 < example.targets.size(); ++n) {
      const Target& target = example.targets[n];
      EXPECT_EQ(example.tokens[target.index + 1], target.token);
    }
  }
}

TEST(AgreementTest, OracleIsAlwaysCorrect) {
  const auto metrics = Score(*MustMakeTask("agreement"), 64, Oracle);
  EXPECT_EQ(metrics.at("accuracy"), 1.0);
  EXPECT_EQ(metrics.at("pair_accuracy"), 1.0);
  EXPECT_EQ(metrics.at("held_out_accuracy"), 1.0);
}

TEST(AgreementTest, PairsCompareThePersonsOfOneTense) {
  // A form of another person, or of another verb, is wrong. Ties between the
  // persons count as wrong, too.
  const auto task = MustMakeTask("agreement");
  const auto by_text = [](absl::string_view text) {
    for (int32_t token = 0; token < 180; ++token) {
      if (AgreementText({token}) == text) return token;
    }
    return -1;
  };
  const auto score = [&](absl::string_view correct,
                         absl::string_view predicted) {
    auto scorer = task->MakeScorer(9, 64);
    Example example{.tokens = std::vector<int32_t>(9),
                    .targets = {{8, by_text(correct)}}};
    scorer->Add(example, Logits(*task, example, [&](const Target&) {
                  return by_text(predicted);
                }));
    return scorer->Metrics().at("pair_accuracy");
  };
  EXPECT_EQ(score("works", "works"), 1);
  EXPECT_EQ(score("works", "work"), 0);
  EXPECT_EQ(score("work", "works"), 0);
  EXPECT_EQ(score("am going", "is going"), 0);
  EXPECT_EQ(score("is going", "is going"), 1);
  EXPECT_EQ(score("has eaten", "have eaten"), 0);
  EXPECT_EQ(score("has eaten", "has gone"), 0);
  EXPECT_EQ(score("went", "went"), 0);  // same for all persons: no pair
}

TEST(AgreementTest, KnowingAllButThePersonIsNotLearned) {
  // Predicts the correct tense and verb, and always the third person.
  const auto task = MustMakeTask("agreement");
  const auto metrics = Score(*task, 64, [](const Target& target) {
    constexpr int32_t kThird[] = {1, 1, 2, 3, 6, 6, 6, 8, 8};
    return target.token / 9 * 9 + kThird[target.token % 9];
  });
  EXPECT_LT(metrics.at("accuracy"), task->learned_criterion().threshold - 0.1);
}

}  // namespace
}  // namespace locus
