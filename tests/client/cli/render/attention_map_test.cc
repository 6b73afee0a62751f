#include "client/cli/render/attention_map.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/support/color.h"
#include "client/cli/support/text_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/client/tensor.h"

namespace locus::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLegend[] =
    "░ ▒ ▓ █: from 4, 16, 36 and 64 % of the largest weight\n";

TensorTable WordTable(int width = 80) {
  const auto word = [](int64_t i) { return i == 0 ? "the" : "cat"; };
  return {.title = "attention",
          .row_label = word,
          .column_label = word,
          .width = width};
}

// Causal weights of `length` tokens that attend to all keys equally.
v1::Tensor Uniform(int64_t length) {
  std::vector<float> weights(length * length);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      weights[i * length + j] = 1.0f / static_cast<float>(i + 1);
    }
  }
  return *MakeTensor<float>({1, length, length}, weights);
}

void ExpectFits(const std::string& text, int width) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    EXPECT_LE(DisplayWidth(line), width) << line;
  }
}

TEST(AttentionMapTest, ShadesFollowTheNumbers) {
  EXPECT_EQ(FormatAttentionMap(WordTable(),
                               *MakeTensor<float>({2, 2}, {1, 0, 0.5f, 0.1f})),
            absl::StrCat("attention  float32 [2, 2]\n"
                         "       the     cat\n"
                         "the 1.0000█ 0.0000\n"
                         "cat 0.5000▓ 0.1000░\n",
                         kLegend));
}

TEST(AttentionMapTest, ShadesAreSharesOfTheLargestWeight) {
  const std::string text = FormatAttentionMap(
      WordTable(), *MakeTensor<float>({1, 2}, {0.02f, 0.004f}));
  EXPECT_THAT(text, HasSubstr("0.0200█ 0.0040▒\n"));
}

TEST(AttentionMapTest, ColorReplacesShades) {
  ASSERT_TRUE(SetColor("always").ok());
  const std::string text =
      FormatAttentionMap(WordTable(), *MakeTensor<float>({1, 2}, {1, 0}));
  ASSERT_TRUE(SetColor("never").ok());
  EXPECT_THAT(text, Not(HasSubstr("█")));
  EXPECT_THAT(text, HasSubstr("\nthe \x1b[38;5;16;48;"));
  EXPECT_THAT(text, HasSubstr("m 1.0000 \x1b[0m\x1b["));
  // A weight of zero has no background.
  EXPECT_THAT(text, HasSubstr("\x1b[0m\x1b[2m 0.0000 \x1b[0m\n"));
}

TEST(AttentionMapTest, NumbersGetShorterBeforeTheyAreLeftOut) {
  EXPECT_THAT(FormatAttentionMap({.title = "x"}, Uniform(9)),
              HasSubstr(" 0.5000▓ 0.5000▓"));
  EXPECT_THAT(FormatAttentionMap({.title = "x"}, Uniform(12)),
              HasSubstr(" 0.50▓ 0.50▓"));
  EXPECT_THAT(FormatAttentionMap({.title = "x"}, Uniform(20)),
              HasSubstr("\n1  ▓▓▓▓\n"));
}

TEST(AttentionMapTest, EveryLengthFitsTheWidth) {
  for (const int64_t length : {1, 2, 9, 12, 20, 39, 70, 78, 200, 1000}) {
    const std::string text =
        FormatAttentionMap({.title = "attention"}, Uniform(length));
    ExpectFits(text, 80);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 70) << length;
  }
}

TEST(AttentionMapTest, CellsOfLargeMapsStandForSeveralWeights) {
  const std::string text = FormatAttentionMap({.title = "x"}, Uniform(200));
  EXPECT_THAT(
      text, HasSubstr("A cell is the largest weight of 4 queries and 3 keys."));
  // The keys above the map, of which a cell stands for three.
  EXPECT_THAT(text, HasSubstr("\n    0    15   30   45   60 "));
}

TEST(AttentionMapTest, MapsOfSeveralHeadsAreNamed) {
  TensorTable table = WordTable();
  table.table_label = [](int64_t head) { return absl::StrCat("head ", head); };
  const std::string text = FormatAttentionMap(
      table, *MakeTensor<float>({6, 1, 1}, {1, 1, 1, 1, 1, 1}));
  EXPECT_THAT(text, HasSubstr("\nhead 3\n"));
  EXPECT_THAT(text, HasSubstr("... and 2 more\n"));
}

TEST(AttentionMapTest, NanHasNoShade) {
  EXPECT_THAT(
      FormatAttentionMap(WordTable(), *MakeTensor<float>({1, 2}, {NAN, 1})),
      HasSubstr("the    nan  1.0000█\n"));
}

TEST(AttentionMapTest, EscapesWords) {
  const auto hostile = [](int64_t) { return "a\x1b[2J"; };
  EXPECT_THAT(
      FormatAttentionMap({.row_label = hostile, .column_label = hostile},
                         *MakeTensor<float>({1, 1}, {1})),
      Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace locus::client
