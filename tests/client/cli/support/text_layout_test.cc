#include "client/cli/support/text_layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::client {
namespace {

using ::testing::ElementsAre;

TEST(TextLayoutTest, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("cat"), 3);
  EXPECT_EQ(DisplayWidth("caf\u00e9"), 4);
  EXPECT_EQ(DisplayWidth("\u2713"), 1);
}

TEST(TextLayoutTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(DisplayWidth("\u65e5\u672c\u8a9e"), 6);
  EXPECT_EQ(DisplayWidth("\U0001f44d"), 2);
}

TEST(TextLayoutTest, CombiningCharactersTakeNoColumn) {
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  // A thumb with a skin tone.
  EXPECT_EQ(DisplayWidth("\U0001f44d\U0001f3fd"), 2);
}

TEST(TextLayoutTest, ColorSequencesTakeNoColumn) {
  EXPECT_EQ(DisplayWidth("\x1b[1;31mred\x1b[0m"), 3);
  // A sequence that does not end with m is counted, since it is not a colour.
  EXPECT_GT(DisplayWidth("\x1b[2J"), 0);
}

TEST(TextLayoutTest, PaddingFillsColumns) {
  EXPECT_EQ(PadLeft("\u65e5", 4), "  \u65e5");
  EXPECT_EQ(PadRight("\x1b[1mx\x1b[0m", 3), "\x1b[1mx\x1b[0m  ");
  EXPECT_EQ(PadRight("long", 2), "long");
}

TEST(TextLayoutTest, PrefixesEndBetweenCharacters) {
  EXPECT_EQ(PrefixOfWidth("caf\u00e9s", 4), "caf\u00e9");
  EXPECT_EQ(PrefixOfWidth("\u65e5\u672c", 3), "\u65e5");
  EXPECT_EQ(PrefixOfWidth("e\u0301x", 1), "e\u0301");
  // At least one character, so that callers make progress.
  EXPECT_EQ(PrefixOfWidth("\u65e5\u672c", 1), "\u65e5");
}

TEST(TextLayoutTest, WrapsAtWords) {
  EXPECT_THAT(WrapWords("the cat sat on the mat", 10),
              ElementsAre("the cat", "sat on the", "mat"));
  EXPECT_THAT(WrapWords(" one\n two ", 80), ElementsAre("one two"));
  EXPECT_THAT(WrapWords("", 10), ElementsAre(""));
}

TEST(TextLayoutTest, LongWordsAreNotBroken) {
  EXPECT_THAT(WrapWords("a /very/long/path b", 6),
              ElementsAre("a", "/very/long/path", "b"));
}

TEST(TextLayoutTest, IndentCountsTowardsTheWidth) {
  EXPECT_EQ(WrapParagraph("one two three", 9, 2), "  one two\n  three\n");
}

}  // namespace
}  // namespace locus::client
