// Tests of the tasks `copy` and `reverse`.
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

}  // namespace
}  // namespace locus
