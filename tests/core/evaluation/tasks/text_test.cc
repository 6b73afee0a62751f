// Tests of the task `text` and of the built-in corpus.
#include "tests/core/evaluation/tasks/testing.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MustMakeTask;
using testing::MustMakeText;
using testing::NumberedText;
using testing::Oracle;
using testing::Score;

// The last `count` targets of each window, which a test scores for `nll`.
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

TEST(TextTest, SameBytesAreScoredAtEveryLength) {
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

TEST(TextTest, ScoredBytesAreDistinctAndEvenlySpaced) {
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

TEST(TextTest, LastTenthIsHeldOutForTests) {
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

TEST(TextTest, WholeTrainingPartIsTrained) {
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
  const auto metrics = Score(*MustMakeTask("text"), 256, Oracle, 64, 0.0f);
  EXPECT_NEAR(metrics.at("nll"), std::log(256.0), 1e-12);
  EXPECT_NEAR(metrics.at("bits_per_byte"), 8, 1e-12);
  EXPECT_NEAR(metrics.at("drift"), 0, 1e-12);
}

// Scoring all bytes of a window would favour long windows, in which fewer
// tokens have a short context.
TEST(TextTest, NllIsOverTheSameTargetsInNats) {
  const auto task = MustMakeTask("text");
  std::vector<std::string> expected;
  for (const int64_t length : {64, 128, 512}) {
    const auto targets = CommonTargets(task->Test(1, length, 64), 32);
    if (expected.empty()) expected = targets;
    EXPECT_EQ(targets, expected) << length;
    // A uniform distribution over bytes has an nll of ln 256, which is 8 bits.
    const auto metrics = Score(*task, length, Oracle, 64, 0.0f);
    EXPECT_NEAR(metrics.at("nll"), std::log(256.0), 1e-12);
    EXPECT_NEAR(metrics.at("bits_per_byte"), 8, 1e-12);
  }
}

TEST(TextTest, BucketBoundsDoubleFromTheTrainingLength) {
  const auto task = MustMakeTask("text");
  const auto names = [&](int64_t length) {
    std::set<std::string> found;
    for (const auto& [name, value] : task->MakeScorer(length, 64)->Metrics()) {
      found.insert(name);
    }
    return found;
  };
  EXPECT_THAT(names(64), ElementsAre("bits_per_byte", "nll"));
  EXPECT_THAT(names(100), ElementsAre("bits_per_byte", "drift", "nll",
                                      "nll_bucket_0_64", "nll_bucket_64_100"));
  EXPECT_THAT(names(256),
              ElementsAre("bits_per_byte", "drift", "nll", "nll_bucket_0_64",
                          "nll_bucket_128_256", "nll_bucket_64_128"));
}

TEST(TextTest, BucketsAreByPositionAndNllIsOverTheLastBytes) {
  // Predictions are certain before position 64, uniform up to 128, uniform over
  // two tokens up to the last 32 bytes, and certain from there on.
  const auto task = MustMakeTask("text");
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

TEST(TextTest, ByteEntropyIsInNats) {
  EXPECT_EQ(ByteEntropy("aaaa"), 0);
  EXPECT_EQ(ByteEntropy(""), 0);
  EXPECT_NEAR(ByteEntropy("abab"), std::log(2.0), 1e-15);
  EXPECT_NEAR(ByteEntropy("aab\xff"), 1.5 * std::log(2.0), 1e-15);
}

TEST(TextTest, ThresholdIsATenthBelowTheEntropyOfTheTrainingPart) {
  std::string text;
  for (int i = 0; i < 18000; ++i) text += "ab";
  text.append(4000, 'x');
  const LearnedCriterion learned = MustMakeText(text)->learned_criterion();
  EXPECT_EQ(learned.metric, "nll");
  EXPECT_FALSE(learned.higher_is_better);
  EXPECT_NEAR(learned.threshold, 0.9 * std::log(2.0), 1e-12);
}

TEST(TextTest, RejectsCorporaOutsideTheLimits) {
  EXPECT_TRUE(MakeTask("text", std::string(4096, 'a')).ok());
  EXPECT_TRUE(MakeTask("text", std::string(4 << 20, 'a')).ok());
  const auto small = MakeTask("text", std::string(4095, 'a')).status();
  EXPECT_EQ(small.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(small), "text.corpus");
  const auto large = MakeTask("text", std::string((4 << 20) + 1, 'a')).status();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FieldOf(large), "text.corpus");
  EXPECT_EQ(LimitOf(large), "max_corpus_bytes");
  EXPECT_EQ(FieldOf(MakeTask("retrofit", std::string(4095, 'a')).status()),
            "retrofit.corpus");
  const auto retrofit = MakeTask("retrofit", std::string(20000, 'a'));
  ASSERT_TRUE(retrofit.ok()) << retrofit.status();
  EXPECT_EQ(FieldOf((*retrofit)->CheckLength(1001)), "retrofit.corpus");
}

TEST(TextTest, RejectsLengthsBeyondATwentiethOfTheCorpus) {
  const auto task = MustMakeText(std::string(20000, 'a'));
  EXPECT_TRUE(task->CheckLength(1000).ok());
  const absl::Status status = task->CheckLength(1001);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FieldOf(status), "text.corpus");
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 1000 tokens"));
}

TEST(TextTest, SupportsTheSmallestCorpus) {
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

TEST(CorpusTest, IsAsciiOfTheDocumentedSize) {
  const absl::string_view corpus = BuiltInCorpus();
  EXPECT_GE(corpus.size(), 300u << 10);
  EXPECT_LE(corpus.size(), 400u << 10);
  for (const char c : corpus) {
    ASSERT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
  }
  EXPECT_FALSE(absl::StrContains(corpus, "$"));
  EXPECT_FALSE(absl::StrContains(corpus, "  "));
}

TEST(CorpusTest, HasManyDistinctStories) {
  std::vector<std::string> stories = absl::StrSplit(BuiltInCorpus(), "\n\n\n");
  EXPECT_EQ(stories.back(), "");
  stories.pop_back();
  EXPECT_GT(stories.size(), 100u);
  EXPECT_EQ(std::set<std::string>(stories.begin(), stories.end()).size(),
            stories.size());
}

TEST(CorpusTest, IsGeneratedOnce) {
  std::vector<const char*> made(4);
  std::vector<std::thread> threads;
  for (const char*& data : made) {
    threads.emplace_back([&data] { data = BuiltInCorpus().data(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* data : made) EXPECT_EQ(data, BuiltInCorpus().data());
}

}  // namespace
}  // namespace locus
